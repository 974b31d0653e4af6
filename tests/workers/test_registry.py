"""Seed 002's registry: which skill is meant, and in which order skills depend on each other."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillfleet_workers.skills.errors import SkillNotFoundError
from skillfleet_workers.skills.models import Skill
from skillfleet_workers.skills.registry import DependencyCycleError, MissingDependencyError, Registry

NAMES = "abcdefgh"


def skill(name: str, *dependencies: str, version: str = "1.0.0", tags: tuple[str, ...] = ()) -> Skill:
    return Skill(name, Path("/skills") / name, version=version, dependencies=dependencies, tags=tags)


def test_what_a_skill_depends_on_comes_before_it() -> None:
    fetch = Registry([skill("grasp", "detect"), skill("detect", "navigate"), skill("navigate")])
    assert fetch.resolve_dependencies("grasp") == ["navigate", "detect", "grasp"]


def test_what_two_skills_depend_on_is_named_once() -> None:
    diamond = Registry([skill("top", "left", "right"), skill("left", "base"), skill("right", "base"), skill("base")])
    assert diamond.resolve_dependencies("top") == ["base", "left", "right", "top"]


def test_the_highest_version_is_meant_unless_one_is_named() -> None:
    registry = Registry([skill("a", version=version) for version in ("1.9.0", "1.10.0", "odd", "2.0.0-beta")])
    assert registry.get_skill("a").version == "2.0.0-beta"
    assert registry.get_skill("a", "1.9.0") is registry.get_skill("a@1.9.0")
    assert [it.version for it in registry.list_skills()] == ["odd", "1.9.0", "1.10.0", "2.0.0-beta"]


@pytest.mark.parametrize("name", ["b", "a@3.0.0", "", "@", "a@1.0.0@2"])
def test_a_skill_that_is_not_registered_is_not_found(name: str) -> None:
    registry = Registry([skill("a")])
    for question in (
        registry.get_skill,
        registry.resolve_dependencies,
        registry.detect_cycles,
        registry.missing_dependencies,
    ):
        with pytest.raises(SkillNotFoundError):
            question(name)


def test_an_unknown_version_names_the_known_ones() -> None:
    registry = Registry([skill("a", version="1.0.0"), skill("a", version="2.0.0")])
    with pytest.raises(SkillNotFoundError, match=r"it has the versions 1\.0\.0, 2\.0\.0"):
        registry.get_skill("a", "3.0.0")


def test_two_versions_of_a_skill_can_be_depended_on_side_by_side() -> None:
    registry = Registry(
        [skill("new", "lib"), skill("old", "lib@1.0.0"), skill("both", "new", "old", "lib@2.0.0")]
        + [skill("lib", version=version) for version in ("1.0.0", "2.0.0")]
    )
    assert registry.resolve_dependencies("both") == ["lib", "lib@1.0.0", "new", "old", "both"]
    assert registry.dependency_graph["both"] == ["new", "old", "lib"]


def test_a_skill_that_is_registered_again_takes_the_place_of_the_first() -> None:
    registry = Registry([skill("a", "b"), skill("b")])
    registry.register_skill(skill("a"))
    assert registry.resolve_dependencies("a") == ["a"]


def test_skills_are_listed_that_have_all_the_tags() -> None:
    registry = Registry([skill("b", tags=("x", "y")), skill("a", tags=("x",)), skill("c")])
    assert [it.name for it in registry.list_skills()] == ["a", "b", "c"]
    assert [it.name for it in registry.list_skills(["x"])] == ["a", "b"]
    assert [it.name for it in registry.list_skills(["x", "y"])] == ["b"]


@pytest.mark.parametrize(
    ("name", "cycle"),
    [
        ("a", ("a", "b", "c", "a")),
        ("c", ("c", "a", "b", "c")),
        ("outside", ("b", "c", "a", "b")),
        ("self", ("self",) * 2),
    ],
)
def test_a_cycle_is_named_from_where_it_is_met(name: str, cycle: tuple[str, ...]) -> None:
    ring = [skill("a", "b"), skill("b", "c"), skill("c", "a"), skill("outside", "b"), skill("self", "self")]
    registry = Registry(ring)
    assert registry.detect_cycles(name) == cycle
    with pytest.raises(DependencyCycleError, match=" -> ".join(cycle)):
        registry.resolve_dependencies(name)


def test_a_cycle_begins_with_the_skill_that_is_met_first() -> None:
    registry = Registry([skill("a", "b", "e"), skill("b"), skill("e", "c"), skill("c", "b", "e")])
    assert registry.detect_cycles("a") == ("e", "c", "e")


def test_all_missing_dependencies_are_named_as_they_are_written() -> None:
    registry = Registry([skill("a", "b", "gone"), skill("b", "a@9.0.0"), skill("c")])
    assert registry.missing_dependencies("a") == ("gone", "a@9.0.0")
    assert registry.missing_dependencies("c") == ()
    with pytest.raises(MissingDependencyError, match=r"gone, a@9\.0\.0"):
        registry.resolve_dependencies("a")


@st.composite
def registries(draw: st.DrawFn) -> list[Skill]:
    """Cycles are as likely as none."""
    known = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
    forward = draw(st.booleans())
    return [
        skill(name, *draw(st.lists(st.sampled_from(known[:place] if forward else known), max_size=3)))
        if place or not forward
        else skill(name)
        for place, name in enumerate(known)
    ]


@given(registries())
def test_an_order_has_everything_once_and_in_time_or_there_is_a_cycle(skills: list[Skill]) -> None:
    registry, graph = Registry(skills), {it.name: it.dependencies for it in skills}
    for name in graph:
        if cycle := registry.detect_cycles(name):
            assert cycle[0] == cycle[-1] and len(set(cycle)) == len(cycle) - 1
            assert all(after in graph[before] for before, after in pairwise(cycle))
            continue
        order = registry.resolve_dependencies(name)
        assert len(order) == len(set(order)) and order[-1] == name
        assert all(order.index(need) < order.index(one) for one in order for need in graph[one])


@given(registries(), st.data())
def test_the_order_does_not_depend_on_the_order_of_registration(skills: list[Skill], data: st.DataObject) -> None:
    shuffled = Registry(data.draw(st.permutations(skills)))
    registry = Registry(skills)
    for it in skills:
        assert registry.detect_cycles(it.name) == shuffled.detect_cycles(it.name)
        if not registry.detect_cycles(it.name):
            assert registry.resolve_dependencies(it.name) == shuffled.resolve_dependencies(it.name)
