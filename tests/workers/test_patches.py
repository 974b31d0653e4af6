"""State patches: what they come to, and fewer that come to the same."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from skillfleet_workers.wire.patches import Composed, merged

LEAVES = st.none() | st.integers(0, 2) | st.lists(st.none() | st.integers(0, 1), max_size=2)
VALUES = st.recursive(LEAVES, lambda inner: st.dictionaries(st.sampled_from("ab"), inner, max_size=2), max_leaves=5)
PATCHES = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)


def test_patches_merge_as_the_seed_says() -> None:
    assert merged([{"a": {"b": 1, "c": 2}}, {"a": {"c": 3, "d": 4}}]) == {"a": {"b": 1, "c": 3, "d": 4}}
    assert merged([{"a": [1, 2], "b": 1}, {"a": [3], "b": None}]) == {"a": [3]}


@given(st.lists(PATCHES, max_size=6), st.lists(PATCHES, max_size=6))
def test_composed_patches_come_to_the_same_whatever_state_they_meet(
    before: list[dict[str, Any]], patches: list[dict[str, Any]]
) -> None:
    composed = Composed()
    for patch in patches:
        composed.add(patch)
    assert len(composed.patches) <= len(patches)
    assert merged([*before, *composed.patches]) == merged([*before, *patches])


@given(st.lists(PATCHES, max_size=4))
def test_what_is_composed_is_no_part_of_what_it_was_made_of(patches: list[dict[str, Any]]) -> None:
    kept = [repr(patch) for patch in patches]
    composed = Composed()
    for patch in patches:
        composed.add(patch)
    merged(composed.patches)
    assert [repr(patch) for patch in patches] == kept


def test_many_patches_without_contradictions_become_one() -> None:
    composed = Composed()
    for number in range(100):
        composed.add({"n": number, "seen": {str(number): True}, "last": None})
    assert len(composed.patches) == 1
