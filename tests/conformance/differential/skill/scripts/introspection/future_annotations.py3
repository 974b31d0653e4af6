from __future__ import annotations

import typing


class Later:
    other: Unknown
    known: int


print(Later.__annotations__)
try:
    typing.get_type_hints(Later)
except NameError as unknown:
    print(unknown)
