"""What holds things open until it is closed, as a base class."""

from contextlib import ExitStack
from types import TracebackType
from typing import Self


class Opened:
    _opened: ExitStack

    def close(self) -> None:
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
