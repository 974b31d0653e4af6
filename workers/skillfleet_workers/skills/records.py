"""The registry file of a root (seed 002): skills.yaml, skills.yml or skills.json, a list of records."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ..wire.contract import MAX_TIMEOUT_SECONDS
from ..wire.shown import is_text
from .fields import SEED_002, declared
from .files import bounded
from .json_texts import JsonError, json_lines, json_value
from .manifest import Rules, checked
from .parts import Part
from .problems import Problem, problem
from .sources import Source, shown
from .yaml_trees import TooManyValuesError, YamlTree, yaml_tree

FILES = ("skills.yaml", "skills.yml", "skills.json")
MAX_RECORDS_BYTES = 1_048_576

RULES: Rules = {
    "name": {
        "type": "string", "pattern": r"^[A-Za-z0-9-]{3,50}\Z", "description": "3-50 letters, digits and hyphens"
    },
    "version": {"type": "string", "pattern": r"^[0-9]+\.[0-9]+\.[0-9]+\Z", "description": "of the form 1.2.3"},
    "description": {"type": "string", "maxLength": 500, "description": "a text of at most 500 characters"},
    "parameters_schema": {"type": "object", "description": "a JSON Schema"},
    "returns_schema": {"type": "object", "description": "a JSON Schema"},
    "timeout": {
        "type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_SECONDS,
        "description": f"1-{MAX_TIMEOUT_SECONDS} whole seconds",
    },
    "max_retries": {"type": "integer", "minimum": 0, "maximum": 5, "description": "0-5 new attempts"},
    "dependencies": {"type": "array", "items": {"type": "string"}, "description": "a list of names of skills"},
    "tags": {"type": "array", "items": {"type": "string"}, "description": "a list of texts"},
}  # fmt: skip
REQUIRED = ("name", "version", "parameters_schema")


class Record(dict[str, Any]):
    """A record's fields, as numbers, texts, lists and maps; `file` and `tree` tell where they stand."""

    def __init__(self, fields: Mapping[str, Any], file: str, tree: YamlTree) -> None:
        super().__init__(fields)
        self.file, self.tree = file, tree


@dataclass(frozen=True, slots=True)
class Records:
    """`found`: each record with its skill's folder, as the files list them. `problems` are the files', not those of
    the fields, which `read_skill` tells."""

    found: tuple[tuple[Path, Record], ...] = ()
    problems: tuple[Problem, ...] = ()


def read_records(root: Path) -> Records:
    """Of the registry files in `root`, the first's records first."""
    root = Path(os.path.realpath(root))
    found: list[tuple[Path, Record]] = []
    problems: list[Problem] = []
    known: set[tuple[Any, Any]] = set()
    for file in FILES:
        if not os.path.lexists(root / file):
            continue
        records = _records(root, file)
        if isinstance(records, Problem):
            problems.append(records)
            continue
        for record in records:
            folder = _folder(root, record, known) if isinstance(record, Record) else record
            if isinstance(folder, Problem):
                problems.append(folder)
            elif isinstance(record, Record):
                found.append((folder, record))
    return Records(tuple(found), tuple(problems))


def record_part(record: Mapping[str, Any]) -> Part:
    file = record.file if isinstance(record, Record) else FILES[0]
    source = Source(file, record, record.tree if isinstance(record, Record) else YamlTree())
    fields = checked(source, RULES, REQUIRED)
    values: dict[str, Any] = {name: fields[name] for name in ("version", "description") if name in fields}
    values |= declared(Source(file, fields, source.tree, source.problems), SEED_002)
    return Part("registry", file, values, tuple(source.problems))


def named(record: Mapping[str, Any]) -> str | None:
    """What the record calls its skill; None: nothing that is a name."""
    source = Source("", record)
    name = checked(source, {"name": RULES["name"]}, ()).get("name")
    return name if isinstance(name, str) else None


def _records(root: Path, file: str) -> list[Record | Problem] | Problem:
    data = bounded(root, file, MAX_RECORDS_BYTES)
    if isinstance(data, Problem):
        return data
    try:
        return list(_from_json(data, file) if file.endswith(".json") else _from_yaml(data, file))
    except JsonError as wrong:
        return problem("records-unreadable", f"it is no JSON list of records: {wrong}", file, wrong.line)
    except yaml.YAMLError as wrong:
        mark = getattr(wrong, "problem_mark", None)
        message = f"it is no YAML list of records: {getattr(wrong, 'problem', None) or wrong}"
        return problem("records-unreadable", message, file, mark.line + 1 if mark else None)


def _from_json(data: bytes, file: str) -> Iterator[Record | Problem]:
    value = json_value(data)
    if not isinstance(value, list):
        raise JsonError("it is no list", 1)
    trees = _items(json_lines(data))
    trees = trees if len(trees) == len(value) else [YamlTree()] * len(value)
    for fields, tree in zip(value, trees, strict=True):
        yield Record(fields, file, tree) if isinstance(fields, dict) else _no_record(file, tree)


def _from_yaml(data: bytes, file: str) -> Iterator[Record | Problem]:
    tree = yaml_tree(data.decode("utf-8", "replace"))
    if tree.root is not None and not isinstance(tree.root, yaml.SequenceNode):
        raise yaml.YAMLError("it is no list")
    for item in _items(tree):
        try:
            fields = item.typed()
        except TooManyValuesError:
            fields = None
        yield Record(fields, file, item) if isinstance(fields, dict) else _no_record(file, item)


def _items(tree: YamlTree) -> list[YamlTree]:
    nodes = tree.root.value if isinstance(tree.root, yaml.SequenceNode) else ()
    return [YamlTree(root=node) for node in nodes]


def _no_record(file: str, tree: YamlTree) -> Problem:
    return problem("record-invalid", "this is no record of a skill", file, _line(tree))


def _folder(root: Path, record: Record, known: set[tuple[Any, Any]]) -> Path | Problem:
    """Of the record's skill; without a path it is called as the skill is."""
    name = named(record)
    if name is None:
        return problem("record-invalid", "this record has no name of a skill", record.file, _line(record.tree))
    version = record.get("version") if isinstance(record.get("version"), str) else None
    if (name, version) in known:
        message = f"there are two records of {name!r}, version {shown(version)}; the first counts"
        return problem("record-duplicate", message, record.file, _line(record.tree))
    path = record.get("path", name)
    legal = isinstance(path, str) and is_text(path) and "\0" not in path and "\\" not in path
    folder = Path(os.path.realpath(root / path)) if legal else root
    if root not in folder.parents or ".." in Path(path).parts or not os.path.isdir(folder):  # noqa: PTH112 - it never raises
        message = f"path: {shown(path)} is no folder below the file"
        return problem("record-folder-missing", message, record.file, record.tree.line_of(("path",)))
    known.add((name, version))
    return folder


def _line(tree: YamlTree) -> int | None:
    return tree.root.start_mark.line + 1 if tree.root is not None else None
