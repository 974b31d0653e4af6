"""`${name.path}` in a scripted text, replaced by what tool calls really brought (pure)."""

import json
import re
from collections.abc import Mapping

from skillfleet_workers.wire.shown import short

SHOWN_CHARS = 300
REFERENCE = re.compile(r"\$\$\{|\$\{([^}]*)\}")


class UnresolvedReference(Exception):
    """A text quotes a result that is not there: which reference, and what there is instead."""


def render(text: str, results: Mapping[str, str]) -> str:
    """`results`: what the model was shown of each named call.

    `${a}` is all of it; `${a.stdout}` a field of it, where it is JSON; `${a.json.mean.0}` goes on inside a
    stdout that is itself JSON. `$${` stands for `${`.

    Raises:
        UnresolvedReference: it is an error to quote what did not happen.
    """
    return REFERENCE.sub(lambda match: _resolve(match[1], results), text)


def _resolve(reference: str | None, results: Mapping[str, str]) -> str:
    if reference is None:
        return "${"
    name, *path = reference.strip().split(".")
    if name not in results:
        known = ", ".join(results) or "none"
        raise UnresolvedReference(f"${{{reference}}}: no result of a call named {name!r} (there are: {known})")
    if not path:
        return results[name]
    try:
        return _printed(_walk(results[name], path))
    except (KeyError, IndexError, ValueError, TypeError):
        message = f"${{{reference}}}: not in the result of {name!r}: {short(results[name], SHOWN_CHARS)}"
        raise UnresolvedReference(message) from None


def _walk(shown: str, path: list[str]) -> object:
    value: object = json.loads(shown)
    if path[0] == "json":
        stdout = value["stdout"] if isinstance(value, dict) else None
        value, path = json.loads(stdout if isinstance(stdout, str) else ""), path[1:]
    for step in path:
        if isinstance(value, list):
            value = value[int(step)]
        elif isinstance(value, dict):
            value = value[step]
        else:
            raise KeyError(step)
    return value


def _printed(value: object) -> str:
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
