"""State patches (seed 003): JSON merge patches (RFC 7396), applied one after the other (pure)."""

from collections.abc import Iterable, Mapping
from typing import Any

import json_merge_patch

Patch = Mapping[str, Any]


def merged(patches: Iterable[Patch]) -> dict[str, Any]:
    """What they come to, from an empty state."""
    state: dict[str, Any] = {}
    for patch in patches:
        json_merge_patch.merge(state, patch)
    return state


class Composed:
    """Patches as few as there can be that come to the same, whatever state they meet. To change it takes as long as
    the patch, however many came before."""

    def __init__(self) -> None:
        self.patches: list[dict[str, Any]] = []

    def add(self, patch: Patch) -> None:
        if self.patches and _composable(self.patches[-1], patch):
            _compose(self.patches[-1], patch)
        else:
            self.patches.append(_compose({}, patch))


def _composable(first: Mapping[str, Any], then: Patch) -> bool:
    """No merge patch says "in place of what there is, this object"."""
    for name, value in then.items():
        if isinstance(value, Mapping) and name in first:
            before = first[name]
            if not isinstance(before, dict) or not _composable(before, value):
                return False
    return True


def _compose(first: dict[str, Any], then: Patch) -> dict[str, Any]:
    """`first`, changed; what of it may change is no part of any other patch."""
    for name, value in then.items():
        if isinstance(value, Mapping):
            before = first.get(name)
            first[name] = _compose(before if isinstance(before, dict) else {}, value)
        else:
            first[name] = value
    return first
