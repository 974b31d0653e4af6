"""skill.json (seed 003) and the rules of its fields (pure)."""

from collections.abc import Collection, Mapping
from typing import Any

from jsonschema import Draft202012Validator

from .json_texts import JsonError, json_lines, json_value
from .parts import Part
from .problems import Severity, problem
from .sources import Source, shown

MANIFEST = "skill.json"

Rules = Mapping[str, Mapping[str, Any]]
"""Of each field the JSON Schema that it keeps; its `description` tells it."""

MANIFEST_RULES: Rules = {
    "name": {
        "type": "string", "minLength": 2, "maxLength": 50, "pattern": r"^[a-z0-9][a-z0-9-]*\Z",
        "description": "2-50 lower-case letters, digits and hyphens, the first no hyphen",
    },
    "version": {"type": "string", "pattern": r"^[0-9]+\.[0-9]+\.[0-9]+\Z", "description": "of the form 1.2.3"},
    "description": {
        "type": "string", "minLength": 10, "maxLength": 500, "description": "a text of 10-500 characters"
    },
    "displayName": {"type": "string", "maxLength": 100, "description": "a text of at most 100 characters"},
    "author": {"type": "string", "maxLength": 100, "description": "a text of at most 100 characters"},
    "license": {"type": "string", "maxLength": 50, "description": "a text of at most 50 characters"},
    "homepage": {
        "type": "string", "maxLength": 2_000, "pattern": r"^[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+\Z",
        "description": "a URI, such as https://example.com/skill",
    },
    "tags": {
        "type": "array", "maxItems": 1_000, "items": {"type": "string"}, "uniqueItems": True,
        "description": "a list of texts, each one once",
    },
    "priority": {"type": "integer", "minimum": 0, "maximum": 100, "description": "a whole number from 0 to 100"},
    "capabilities": {"type": "array", "items": {"type": "string"}, "description": "a list of texts"},
}  # fmt: skip
MANIFEST_REQUIRED = ("name", "version", "description")

_FIELDS = {
    "version": "version", "description": "description", "displayName": "display_name", "author": "author",
    "license": "license", "homepage": "homepage", "tags": "tags", "priority": "priority",
    "capabilities": "capabilities",
}  # fmt: skip
_KEPT_ANYHOW = ("description",)
"""Too short or too long, it still tells what the skill is for."""


def manifest_part(name: str, data: bytes, *, lone: bool) -> Part:
    """`lone`: there is no SKILL.md, so that the skill is what this file says or nothing."""
    source = manifest_source(data, "error" if lone else "warning")
    fields = checked(source, MANIFEST_RULES, ("name", "version") if source.fields else ())
    if fields.get("name", name) != name:
        message = f"the name here is {shown(fields['name'])}, the skill's is {name!r}, which holds"
        source.wrong("name-differs", message, ("name",))
    values = {ours: _frozen(fields[theirs]) for theirs, ours in _FIELDS.items() if theirs in fields}
    return Part("skill_json", MANIFEST, values, tuple(source.problems), must_describe=lone)


def manifest_source(data: bytes, severity: Severity = "error") -> Source:
    """Its fields; none where it cannot be read."""
    try:
        fields = json_value(data)
    except JsonError as wrong:
        told = problem("json-invalid", f"it is no JSON: {wrong}", MANIFEST, wrong.line, severity)
        return Source(MANIFEST, {}, problems=[told])
    if not isinstance(fields, dict):
        told = problem("json-not-an-object", "it is no JSON object", MANIFEST, 1, severity)
        return Source(MANIFEST, {}, problems=[told])
    return Source(MANIFEST, fields, json_lines(data))


def checked(source: Source, rules: Rules, required: Collection[str]) -> dict[str, Any]:
    """The fields that keep their rules; the others are told of."""
    found = {}
    for name, rule in rules.items():
        value = source.fields.get(name)
        if value is None:
            if name in required:
                source.wrong("field-missing", f"{name} is missing")
        elif Draft202012Validator(rule).is_valid(value):
            found[name] = value
        else:
            kept = name in _KEPT_ANYHOW and isinstance(value, str) and value.strip()
            end = "used nevertheless" if kept else "ignored"
            source.wrong("field-invalid", f"{name}: {shown(value)} is not {rule['description']}; {end}", (name,))
            found |= {name: value} if kept else {}
    return found


def _frozen(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(value)
    return int(value) if isinstance(value, float) else value  # 50.0 is a whole number in JSON Schema
