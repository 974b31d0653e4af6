import abc
import typing


@typing.runtime_checkable
class Closes(typing.Protocol):
    def close(self) -> None: ...


class Base(abc.ABC):
    @abc.abstractmethod
    def close(self): ...


print(isinstance(open("/dev/null"), Closes), Base.__abstractmethods__, typing.get_args(dict[str, int | None]))
Base()
