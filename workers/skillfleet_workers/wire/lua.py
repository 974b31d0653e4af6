"""The scripts that run in redis: each with those functions of the shared files that it needs, and no others, for all
that it has are made anew whenever it runs."""

import re
from collections.abc import Callable
from functools import cache
from importlib import resources

from . import keys
from .contract import DEFAULT_PRIORITY, DEFAULT_TENANT

_SHARED = ("clock", "fair", "ready", "places", "mail", "children")
_KEYS = (keys.state, keys.calls, keys.events, keys.live, keys.mailbox, keys.topics, keys.requests, keys.kept)
_CONSTANTS = {
    name: getattr(keys, name)
    for name in (
        "CALL_FIELDS",
        "READY",
        "HELD",
        "WAITING",
        "SENT",
        "MARK",
        "ROUTES",
        "LIVE_ENTRIES",
        "LIVE_WORDS",
        "LIVE_S",
        "LIVE_ENDED_S",
        "MESSAGES_KEPT",
        "LONGEST_SLEEP_MS",
    )
}
_DEFINITION = re.compile(r"^local (?:function (?P<function>\w+).*?^end$|(?P<name>\w+).*?$)", re.MULTILINE | re.DOTALL)


def lua(package: str, name: str) -> str:
    """A script of a package."""
    script = resources.files(package).joinpath(f"{name}.lua").read_text()
    for defined, definition in reversed(_shared()):
        if re.search(rf"\b{defined}\b", script):
            script = f"{definition}\n{script}"
    return script


@cache
def _shared() -> list[tuple[str, str]]:
    """Names and definitions; each uses those before it alone."""
    constants = [f"local {name} = '{value}'" for name, value in _CONSTANTS.items()]
    constants += [f"local DEFAULT_TENANT = '{DEFAULT_TENANT}'", f"local DEFAULT_PRIORITY = {DEFAULT_PRIORITY}"]
    files = [resources.files(__package__).joinpath(f"{part}.lua").read_text() for part in _SHARED]
    source = "\n".join([*constants, *map(_key_in_lua, _KEYS), *files])
    return [(found["function"] or found["name"], found[0]) for found in _DEFINITION.finditer(source)]


def _key_in_lua(key: Callable[[str], str]) -> str:
    before, after = key("\0").split("\0")
    return f"local function {key.__name__}_key(id)\n  return '{before}' .. id .. '{after}'\nend"
