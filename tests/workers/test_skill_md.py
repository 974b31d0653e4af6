import re
from dataclasses import replace
from pathlib import Path

import pytest

from skillfleet_workers.skills.fields import FIELDS, OWN
from skillfleet_workers.skills.models import NO_DESCRIPTION, Requirements, Skill, Skipped
from skillfleet_workers.skills.parts import folded
from skillfleet_workers.skills.skill_md import skill_md_part


def read(text: str | bytes, name: str = "calculator") -> Skill | Skipped:
    head = text if isinstance(text, bytes) else text.encode()
    return folded(Skill(name, Path("/skills") / name), [skill_md_part(name, "SKILL.md", head)])


def loaded(text: str | bytes, name: str = "calculator") -> Skill:
    skill = read(text, name)
    assert isinstance(skill, Skill), skill
    return skill


def reason(text: str) -> str:
    skipped = read(text)
    assert isinstance(skipped, Skipped), skipped
    return skipped.reason


def test_a_skill_is_what_its_frontmatter_says() -> None:
    head = """---
name: calculator
description: Adds numbers.
version: 1.2.3
metadata:
  skillfleet:
    timeout: 120
    requirements: [six, "packaging >= 20"]
    env: [API_KEY]
---
# Body
"""
    skill = loaded(head)
    assert skill == Skill(
        "calculator",
        Path("/skills/calculator"),
        description="Adds numbers.",
        documentation="SKILL.md",
        body_offset=head.index("# Body"),
        version="1.2.3",
        timeout=120,
        requirements=("six", "packaging >= 20"),
        env=("API_KEY",),
        formats=("skill_md",),
    )


@pytest.mark.parametrize(
    ("markdown", "description"),
    [
        ("# Calculator\n\nAdds numbers,\nquickly.\n\nMore.\n", "Adds numbers, quickly."),
        ("Adds.\n", "Adds."),
        ("Title\n=====\nAdds.\n", "Adds."),
        ("# One\n## Two\nAdds.\n", "Adds."),
        ("<!-- a\n\nb -->\n```\ncode\n\nmore\n```\n\nAdds.\r\n\r\nMore", "Adds."),
        ("# Only a heading\n", "Only a heading"),
        ("", NO_DESCRIPTION),
        ("\n\n----\n\n", NO_DESCRIPTION),
    ],
)
def test_without_frontmatter_the_first_paragraph_is_the_description(markdown: str, description: str) -> None:
    skill = loaded(markdown)
    assert (skill.description, skill.body_offset, skill.problems) == (description, 0, ())


@pytest.mark.parametrize(
    ("block", "description"),
    [
        ("description: Use when: adding", "Use when: adding"),
        ("description: It's for: 'adding'", "It's for: 'adding'"),
        ("description: Use this\n  when: adding\nlicense: MIT", "Use this when: adding"),
        ("metadata:\n  note: a: b\ndescription: Adds", "Adds"),
        ("description: >\n  Use when: adding\nlicense: MIT: or so", "Use when: adding\n".strip()),
        ("description: `adds` numbers", "`adds` numbers"),
        ("description: @adds", "@adds"),
    ],
)
def test_a_value_with_an_unquoted_colon_is_read_as_if_quoted(block: str, description: str) -> None:
    assert loaded(f"---\nname: calculator\n{block}\n---\n").description == description


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nname: calculator\n---\nBody", "no description"),
        ("---\nname: calculator\ndescription: '  '\n---\nBody", "no description"),
        ("---\ndescription: [a, b]\n---\n", "no description"),
        ("---\n---\n", "no description"),
        ("---\ndescription: Adds\n", "not closed"),
        ("---\ndescription: Adds\nother: [1, 2\n---\n", "not readable YAML"),
        ("---\ndescription: Adds\n\tx: 1\n---\n", "not readable YAML"),
        ("---\n- a\n- b\n---\n", "key: value"),
        ("---\ndescription: Adds\nx: " + "[" * 30_000 + "]" * 30_000 + "\n---\n", "nested"),
    ],
)
def test_frontmatter_that_cannot_be_used_skips_the_skill_with_the_reason(text: str, expected: str) -> None:
    assert expected in reason(text)
    assert reason(text).startswith("SKILL.md: ")


def test_strange_values_elsewhere_do_no_harm() -> None:
    skill = loaded("---\ndescription: Adds\ndate: 2024-99-99\nn: !!int ''\nx: {1: 2}\nmetadata: none\n---\n")
    assert skill.description == "Adds"


def test_values_that_are_small_in_yaml_and_endless_in_print_are_only_named() -> None:
    layers = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 40))
    skill = loaded(f"---\ndescription: Adds\nl0: &l0 [x]\n{layers}name: *l39\ntimeout: *l39\nversion: *l39\n---\n")
    assert len(skill.problems) == 3
    assert all(len(problem.message) < 300 for problem in skill.problems)


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_windows_line_ends_and_a_byte_order_mark_are_accepted(line_end: str, mark: str) -> None:
    text = mark + line_end.join(["---", "description: Adds", "---", "Bödy"])
    skill = loaded(text)
    assert skill.description == "Adds"
    assert text.encode()[skill.body_offset :].decode() == "Bödy"


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert loaded(b"---\ndescription: Adds \xff\n---\n").description == "Adds \ufffd"


@pytest.mark.parametrize("place", ["timeout: {}", "metadata:\n  skillfleet:\n    timeout: {}"])
@pytest.mark.parametrize(
    ("value", "timeout"),
    [("1", 1), ("3600", 3600), ('"90"', 90), ("0", None), ("3601", None), ("-5", None), ("1.5", None),
     ("soon", None), ("[1]", None), ("true", None)],
)  # fmt: skip
def test_a_timeout_out_of_range_is_ignored_with_a_warning(place: str, value: str, timeout: int | None) -> None:
    skill = loaded(f"---\ndescription: Adds\n{place.format(value)}\n---\n")
    assert skill.timeout == timeout
    assert len(skill.problems) == (timeout is None)


@pytest.mark.parametrize(("value", "retries"), [("0", 0), ("1", 1), ("5", 5), ("6", None), ("-1", None), ("x", None)])
def test_retries_are_read_at_the_top_level_too_and_out_of_range_ignored(value: str, retries: int | None) -> None:
    skill = loaded(f"---\ndescription: Adds\nmax_retries: {value}\n---\n")
    assert (skill.max_retries, len(skill.problems)) == (retries or 0, retries is None)
    assert loaded("---\ndescription: Adds\n---\n").max_retries == 0


def test_skillfleets_own_timeout_wins() -> None:
    text = "---\ndescription: Adds\ntimeout: 5\nmetadata:\n  skillfleet:\n    timeout: 7\n---\n"
    assert loaded(text).timeout == 7


@pytest.mark.parametrize(
    ("value", "requirements"),
    [
        ("six packaging", ("six", "packaging")),
        ("|\n      six >= 1\n      packaging\n", ("six >= 1", "packaging")),
        ("[six, packaging]", ("six", "packaging")),
        ("\n      - six\n      - packaging", ("six", "packaging")),
    ],
)
def test_requirements_are_a_list_or_lines_or_words(value: str, requirements: tuple[str, ...]) -> None:
    text = f"---\ndescription: Adds\nmetadata:\n  skillfleet:\n    requirements: {value}\n---\n"
    assert loaded(text).requirements == requirements


def test_names_that_are_no_variables_and_requirements_of_a_wrong_kind_are_ignored_with_warnings() -> None:
    own = "metadata:\n  skillfleet:\n    env: API_KEY a=b 1X\n    requirements: {six: 1}\n"
    skill = loaded(f"---\ndescription: Adds\n{own}---\n")
    assert (skill.env, skill.requirements) == (("API_KEY",), ())
    assert len(skill.problems) == 3


def test_a_version_that_could_not_be_an_environment_variable_is_ignored() -> None:
    skill = loaded('---\ndescription: Adds\nmetadata:\n  version: "1\\0"\n---\n')
    assert skill.version == "0.0.0"
    assert len(skill.problems) == 1


def test_the_folders_name_holds_whatever_the_frontmatter_says() -> None:
    skill = loaded("---\nname: abacus\ndescription: Adds\n---\n")
    assert skill.name == "calculator"
    assert "abacus" in skill.problems[0].message


@pytest.mark.parametrize("name", ["Upper", "two--hyphens", "-x", "a b", "x" * 65, "a_b"])
def test_a_bad_name_warns_and_loads(name: str) -> None:
    assert len(loaded("Adds.", name).problems) == 1
    assert len(loaded(f'---\nname: "{name}"\ndescription: Adds\n---\n', name).problems) == 1


def test_unicode_names_pass() -> None:
    assert loaded("Adds.", "größe-数").problems == ()


def test_a_description_that_is_too_long_warns_and_loads_whole() -> None:
    skill = loaded(f"---\ndescription: {'x' * 1025}\n---\n")
    assert len(skill.description) == 1025
    assert len(skill.problems) == 1


def test_a_skill_is_a_value() -> None:
    assert loaded("Adds.") == replace(loaded("Adds."))


def own(keys: str) -> Skill:
    return loaded(f"---\ndescription: Adds\nmetadata:\n  skillfleet:\n    {keys}\n---\n")


@pytest.mark.parametrize(
    ("keys", "field", "value"),
    [
        ("memory_mb: 512", "memory_mb", 512),
        ("pids: 20", "pids", 20),
        ("cpu_seconds: 5", "cpu_seconds", 5),
        ("disk_mb: 64", "disk_mb", 64),
        ("network: host", "network", "host"),
        ("network: None", "network", "none"),
        ("preload: [numpy, sklearn.svm]", "preload", ("numpy", "sklearn.svm")),
        ("fresh_interpreter: true", "fresh_interpreter", True),
        ("fresh_interpreter: False", "fresh_interpreter", False),
        ("runtime: container", "runtime", "container"),
        ("image: registry.test:5000/team/skill:1.2", "image", "registry.test:5000/team/skill:1.2"),
        ("effects: pure", "effects", "pure"),
        ("max_retries: 5", "max_retries", 5),
        ("protocol: {extract: ndjson, fill: text}", "protocol", {"extract": "ndjson", "fill": "text"}),
    ],
)
def test_what_a_skill_asks_of_its_runs_is_kept(keys: str, field: str, value: object) -> None:
    skill = own(keys)
    assert (getattr(skill, field), skill.problems) == (value, ())


@pytest.mark.parametrize(
    "keys",
    ["memory_mb: much", "memory_mb: 1", "memory_mb: 9999999999", "pids: 0", "cpu_seconds: -1", "disk_mb: [1]",
     "network: all", "network: [none]", "preload: [a-b]", "preload: {a: b}", "fresh_interpreter: maybe",
     "runtime: vm", "image: -x", "effects: none", "max_retries: 6", "max_retries: -1",
     "protocol: json", "protocol: {a: xml}"],
)  # fmt: skip
def test_a_wrong_value_is_left_out_with_a_warning(keys: str) -> None:
    skill = own(keys)
    assert len(skill.problems) == 1 and keys.split(":")[0] in skill.problems[0].message
    assert replace(skill, problems=()) == replace(own("unknown: 1"), body_offset=skill.body_offset)


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ("", None),
        ("allowed-tools:", None),
        ("allowed-tools: Bash(git add:*) Read", ("Bash(git add:*)", "Read")),
        ("allowed-tools: Read, Grep", ("Read", "Grep")),
        ("allowed-tools: [Read, Bash(git:*)]", ("Read", "Bash(git:*)")),
        ("allowed-tools: []", ()),
        ("allowed-tools: {a: b}", ()),
    ],
)
def test_allowed_tools_are_a_text_or_a_list(line: str, allowed: tuple[str, ...] | None) -> None:
    assert loaded(f"---\ndescription: Adds\n{line}\n---\n").allowed_tools == allowed


def test_variables_that_no_skill_is_given_are_left_out_with_a_warning() -> None:
    skill = own("env: [LLM_API_KEY, SKILLFLEET_REDIS_URL, TOKEN]")
    assert (skill.env, len(skill.problems)) == (("TOKEN",), 2)


def test_every_key_that_a_skill_can_set_is_in_the_table_of_its_document() -> None:
    text = (Path(__file__).parents[2] / "docs" / "writing-skills.md").read_text()
    table = text.partition("| under `metadata.skillfleet` |")[2].partition("\n\n")[0]
    told = {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    places = {place for field in FIELDS.values() for place in field.places}
    assert told == {place.removeprefix(f"{OWN}.") for place in places if place.startswith(OWN)}


def test_every_problem_has_the_line_of_its_key_and_a_fix() -> None:
    lines = "name: other\ndescription: Use\n  this when: adding\ntimeout: no\nmetadata:\n  skillfleet:\n    pids: 0"
    skill = loaded(f"---\n{lines}\n---\n")
    assert [(problem.code, problem.line) for problem in skill.problems] == [
        ("name-differs", 2), ("number-invalid", 5), ("number-invalid", 8),
    ]  # fmt: skip
    assert all(problem.fix and problem.file == "SKILL.md" for problem in skill.problems)


def test_what_a_skill_says_in_the_words_of_openclaw_is_understood() -> None:
    requires = '{"anyBins": ["curl", "wget"], "env": ["KEY"]}'
    said = f'{{"emoji": "🔧", "primaryEnv": "KEY", "requires": {requires}, "os": ["linux"]}}'
    skill = loaded(f'---\nname: calculator\ndescription: Adds\nmetadata: {{"openclaw": {said}}}\n---\n')
    assert skill.requires == Requirements(any_bins=("curl", "wget"), env=("KEY",), os=("linux",))
    assert (skill.emoji, skill.primary_env, skill.problems) == ("🔧", "KEY", ())
