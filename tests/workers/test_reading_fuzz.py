"""Whatever is in a folder: it is a skill or skipped with a reason, and the strict verdict is the reference's."""

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.workers.skill_folders import write_skill
from tests.workers.test_strict_verdict import reference_accepts

from skillfleet_workers.skills.fields import FIELDS
from skillfleet_workers.skills.manifest import MANIFEST_RULES
from skillfleet_workers.skills.models import Skill, Skipped
from skillfleet_workers.skills.reading import read_skill
from skillfleet_workers.skills.records import read_records
from skillfleet_workers.skills.strict import strict_problems

moderate = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])

TOKENS = [
    "---", "\n", "\n", "\n  ", "\n  - ", ": ", ":", "name", "calc", "description", "Adds.", "metadata", "'", '"',
    "[", "]",
    "{", "}", ",", "&a ", "*a", "!x ", "? ", "- ", "|", ">", "#", " ", "\t", "%", "@", "\ufeff", "\r\n", "é",
    "null", "1",
    "<<", "skillfleet", "allowed-tools", "hooks", "requires", "parameters_schema", "license", "...", "\u2028",
]  # fmt: skip
yaml_text = st.lists(st.sampled_from(TOKENS), max_size=30).map("".join)
places = sorted({place for field in FIELDS.values() for place in field.places})
schema_keys = ["type", "properties", "$ref", "enum", "minimum", "pattern", "items", "allOf", "not"]
keys = st.sampled_from([*MANIFEST_RULES, *schema_keys])
texts = st.text(st.characters(exclude_categories=["C"]), max_size=10)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
    | st.sampled_from(["#", "object", "string", "^(a+)+$", "${A}", "calc", "1.0.0"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys | texts, inner, max_size=5),
    max_leaves=15,
)  # fmt: skip
objects = st.dictionaries(keys, values, max_size=6)


def outcome(files: dict[str, str | bytes], record: dict[str, Any] | None = None) -> Skill | Skipped:
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent, "calc")
        write_skill(folder, files)
        found = read_skill(folder, record=record)
        strict_problems(folder)
    assert isinstance(found, Skill) or found.reason
    for problem in found.problems:
        json.dumps(problem.as_json())
        assert len(problem.message) < 1_000
    return found


@moderate
@given(st.binary(max_size=300))
def test_any_bytes(data: bytes) -> None:
    outcome({"SKILL.md": data})
    outcome({"SKILL.md": b"---\n" + data + b"\n---\n", "skill.json": data, "config.json": data})
    outcome({"config-schema.json": data, "config.json": data, "prompt.md": data})


@moderate
@given(yaml_text)
def test_any_frontmatter_is_judged_as_the_reference_judges_it(text: str) -> None:
    with tempfile.TemporaryDirectory() as parent:
        for content in (
            f"---\n{text}\n---\n",
            f"---\nname: calc\ndescription: Adds.\n{text}\n---\n",
            f"---{text}---",
        ):
            folder = write_skill(Path(parent, "calc"), {"SKILL.md": content}).root
            accepted = reference_accepts(folder)
            assert (not strict_problems(folder)) == accepted, content
            assert isinstance(read_skill(folder), Skill) or not accepted, content


@moderate
@given(st.dictionaries(st.sampled_from(places), values, max_size=6))
def test_any_values_in_any_field(fields: dict[str, Any]) -> None:
    tree: dict[str, Any] = {"description": "Adds."}
    for place, value in fields.items():
        *parents, name = place.split(".")
        at = tree
        for parent in parents:
            inner = at.setdefault(parent, {})
            at = inner if isinstance(inner, dict) else {}
        at[name] = value
    text = json.dumps(tree, ensure_ascii=False)
    assert isinstance(outcome({"SKILL.md": f"---\n{text}\n---\n"}), Skill)


@moderate
@given(objects)
def test_any_skill_json(fields: dict[str, Any]) -> None:
    outcome({"skill.json": json.dumps(fields)})
    outcome({"skill.json": json.dumps({"description": "Adds numbers."} | fields), "SKILL.md": "Adds."})


@moderate
@given(values, values)
def test_any_configuration_and_schema(schema: Any, config: Any) -> None:
    files: dict[str, str | bytes] = {"config-schema.json": json.dumps(schema), "config.json": json.dumps(config)}
    assert isinstance(outcome(files), Skill)


@moderate
@given(st.lists(objects | values, max_size=4), yaml_text)
def test_any_registry_file(records: list[Any], text: str) -> None:
    with tempfile.TemporaryDirectory() as parent:
        root = Path(parent)
        write_skill(root / "calc", {"skills.yaml": ""})
        (root / "skills.json").write_text(json.dumps(records))
        (root / "skills.yaml").write_text(text)
        for folder, record in read_records(root).found:
            assert isinstance(read_skill(folder, record=record), Skill)
    for record in records:
        if isinstance(record, dict):
            assert isinstance(outcome({}, record), Skill)
