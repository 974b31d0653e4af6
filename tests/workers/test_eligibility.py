"""Whether a worker can run a skill, the reason where it cannot, and which workers its calls go to."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skillfleet_workers.skills.eligibility import REASON_CHARS, Filter, Host, why_not
from skillfleet_workers.skills.models import Requirements, Skill
from skillfleet_workers.skills.override_file import Override
from skillfleet_workers.skills.registry import Registry

PROGRAMS = {"git": "/usr/bin/git", "npm": "/usr/bin/npm"}
HOST = Host(
    PROGRAMS.get,
    {"TOKEN": "t", "EMPTY": "", "LLM_API_KEY": "k"},
    platform="linux",
    queues=frozenset({"gpu"}),
)
NOTHING = Override()
OFF = Override(enabled=False, reason="it is off")


def skill(name: str = "a", *dependencies: str, **fields: Any) -> Skill:
    return Skill(name, Path("/skills") / name, dependencies=dependencies, **fields)


def reason(
    it: Skill,
    override: Override = NOTHING,
    *others: Skill,
    host: Host = HOST,
    off: Mapping[str, Override] | None = None,
) -> str | None:
    return why_not(it, host, override, Registry([it, *others]), lambda name: (off or {}).get(name, Override()))


@pytest.mark.parametrize(
    ("needs", "why"),
    [
        ({"bins": ("git", "npm")}, None),
        ({"bins": ("git", "gh")}, "it needs the program 'gh', which this worker does not have"),
        ({"any_bins": ("pnpm", "npm")}, None),
        ({"any_bins": ("pnpm", "yarn")}, "it needs one of the programs pnpm, yarn, this worker has none of them"),
        ({"env": ("TOKEN",)}, None),
        ({"env": ("TOKEN", "OTHER")}, "it needs the variable OTHER, which this worker does not have"),
        ({"env": ("EMPTY",)}, "it needs the variable EMPTY, which this worker does not have"),
        ({"env": ("LLM_API_KEY",)}, "it needs the variable LLM_API_KEY, which is never given to a skill"),
        ({"os": ("darwin", "linux")}, None),
        ({"os": ("darwin", "win32")}, "it is for darwin, win32, this worker runs on linux"),
        ({"config": ("key",)}, "it needs 'key' in its configuration, which has no value for it"),
    ],
)
def test_what_a_skill_requires_is_looked_for(needs: Mapping[str, tuple[str, ...]], why: str | None) -> None:
    assert reason(skill(requires=Requirements(**needs))) == why


def test_the_first_thing_that_is_missing_is_the_reason() -> None:
    requires = Requirements(("gh",), ("yarn",), ("OTHER",), ("darwin",), ("key",))
    it = skill("a", "gone", requires=requires, queue="office")
    mended: list[Mapping[str, Any]] = [
        {},
        {"os": ()},
        {"bins": ()},
        {"any_bins": ()},
        {"env": ()},
        {"config": ()},
    ]
    reasons = [reason(it, OFF)]
    for change in mended:
        it = replace(it, requires=replace(it.requires, **change))
        reasons.append(reason(it))
    reasons.append(reason(replace(it, queue="gpu")))
    looked_for = ["off", "darwin", "'gh'", "yarn", "OTHER", "'key'", "'office'", "gone"]
    assert [word in str(why) for word, why in zip(looked_for, reasons, strict=True)] == [True] * 8
    assert reason(replace(it, queue="gpu", dependencies=())) is None


def test_always_is_eligible_whatever_it_lacks_but_not_when_it_is_off() -> None:
    it = skill("a", "gone", always=True, requires=Requirements(bins=("gh",)), queue="office")
    refuses = replace(HOST, filters={"no": lambda skill, host: "never"})
    assert reason(it, host=refuses) is None
    assert reason(it, OFF, host=refuses) == "it is off"


def test_an_override_gives_variables_and_configuration() -> None:
    it = skill(requires=Requirements(env=("OTHER",), config=("deep.key",)), config={"deep": {}})
    assert reason(it) and reason(it, Override(env={"OTHER": "x"}))
    assert reason(it, Override(env={"OTHER": "x"}, config={"deep": {"key": 1}})) is None


def test_what_an_override_configures_counts_as_it_is_for_so_the_script_gets_it() -> None:
    it = skill(requires=Requirements(config=("key",)))
    assert reason(it, Override(config={"key": "${OTHER}"})) is None


@pytest.mark.parametrize(
    ("config", "eligible"),
    [
        ({"a": {"b": "x"}}, True),
        ({"a": {"b": [0]}}, True),
        ({"a": {"b": "${TOKEN}"}}, True),
        ({"a": {"b": "Bearer ${OTHER}"}}, True),
        ({"a": {"b": "${OTHER}"}}, False),
        ({"a": {"b": "${LLM_API_KEY}"}}, False),
        ({"a": {"b": 0}}, False),
        ({"a": {"b": False}}, False),
        ({"a": {"b": ""}}, False),
        ({"a": {"b": None}}, False),
        ({"a": "b"}, False),
        ({"a.b": "x"}, False),
        ({}, False),
        (None, False),
    ],
)
def test_a_configured_value_is_one_that_is_true(config: Mapping[str, Any] | None, eligible: bool) -> None:
    it = skill(requires=Requirements(config=("a.b",)), config=config)
    assert (reason(it) is None) == eligible


@pytest.mark.parametrize(
    ("others", "off", "why"),
    [
        ([skill("b", "c"), skill("c")], {}, None),
        ([skill("b", "c")], {}, "these dependencies are missing: c"),
        ([skill("b", "c"), skill("c", "a")], {}, "dependencies form a cycle: b -> c -> a -> b"),
        (
            [skill("b", "c"), skill("c", requires=Requirements(("gh",)))],
            {},
            "it depends on 'b': it depends on 'c': it needs",
        ),
        ([skill("b", "c"), skill("c")], {"c": OFF}, "it depends on 'b': it depends on 'c': it is off"),
        ([skill("b", "c", always=True), skill("c")], {"c": OFF}, None),
        ([skill("b", "c"), skill("c", queue="gpu")], {}, None),
        (
            [skill("b", "c@1"), skill("c", version="1", queue="office"), skill("c", version="2")],
            {},
            "depends on 'c@1'",
        ),
    ],
)
def test_a_skill_needs_what_it_depends_on(others: list[Skill], off: Mapping[str, Override], why: str | None) -> None:
    found = reason(skill("a", "b"), Override(), *others, off=off)
    assert found is None if why is None else why in str(found)


def test_a_long_chain_of_dependencies_gives_a_short_reason() -> None:
    chain = [skill(f"s{number}", f"s{number + 1}") for number in range(1_000)]
    why = reason(chain[0], NOTHING, *chain, skill("s1000", queue="office"))
    assert why is not None and why.startswith("it depends on 's1'") and len(why) <= REASON_CHARS


def test_a_skill_that_the_registry_does_not_have_is_judged_all_the_same() -> None:
    assert why_not(skill("new", "b"), HOST, Override(), Registry([skill("b")])) is None
    assert why_not(skill("new", "b"), HOST, Override(), Registry()) == "these dependencies are missing: b"


def raises(skill: Skill, host: Host) -> str | None:
    raise ValueError("no idea")


@pytest.mark.parametrize(
    ("ask", "why"),
    [
        (lambda skill, host: None, None),
        (lambda skill, host: "", None),
        (lambda skill, host: f"{skill.name} on {host.platform}", "a on linux"),
        (raises, "the filter 'mine' failed: ValueError: no idea"),
    ],
)
def test_filters_of_others_have_the_last_word(ask: Filter, why: str | None) -> None:
    host = replace(HOST, filters={"mine": ask})
    assert reason(skill(), host=host) == why
    assert "'gh'" in str(reason(skill(requires=Requirements(bins=("gh",))), host=host))
    dependent = reason(skill("x", "a"), Override(), skill("a"), host=host)
    assert (dependent is None) == (why is None)
