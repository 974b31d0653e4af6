"""The Harbour Bikes service, which answers from data/service.json: as its spec says, and without a network."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
KEYS = {"zones": "zone", "stations": "station", "bikes": "bike"}
"""The field by which the rows below one belong to it."""

DATES = {"trips": "start", "repairs": "date"}

Row = dict[str, Any]


class ServiceError(ValueError):
    """The service refuses the call; the message says why, in one line."""


def get(path: str, query: Mapping[str, Any] | None = None) -> Any:
    """What the service answers: a dict, or a list of them. For example get("/trips", {"from": "S01", "limit": 5}).

    Raises:
        ServiceError: there is no such path, parameter or id.
    """
    template, operation = _operation(path)
    asked = _checked(template, operation, dict(query or {}))
    collection, *rest = path.strip("/").split("/")
    rows = _data()[collection]
    if rest:
        row = _found(rows, rest[0], collection)
        if len(rest) == 1:
            return row
        rows, collection = [one for one in _data()[rest[1]] if one[KEYS[collection]] == row["id"]], rest[1]
    return [row for row in rows if _fits(row, collection, asked)][: asked.get("limit")]


@cache
def _read(name: str) -> Any:
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


def _data() -> dict[str, list[Row]]:
    return dict(_read("data/service.json"))


def _operation(path: str) -> tuple[str, Row]:
    parts = path.strip("/").split("/")
    paths: dict[str, Row] = _read("openapi.json")["paths"]
    for template, operations in paths.items():
        wanted = template.strip("/").split("/")
        if len(wanted) == len(parts) and all(w == p or w[0] == "{" for w, p in zip(wanted, parts, strict=True)):
            return template, operations["get"]
    raise ServiceError(f"404: no path {path!r}; paths: {', '.join(paths)}")


def _checked(template: str, operation: Row, query: Row) -> Row:
    schemas = {one["name"]: one["schema"] for one in operation["parameters"] if one["in"] == "query"}
    for name, value in query.items():
        if name not in schemas:
            known = f"parameters: {', '.join(schemas)}" if schemas else "it has none"
            raise ServiceError(f"400: {template} has no parameter {name!r}; {known}")
        schema = schemas[name]
        kind = int if schema["type"] == "integer" else str
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ServiceError(f"400: {name} is {value!r}, and not of type {schema['type']}")
        if value not in schema.get("enum", [value]):
            raise ServiceError(f"400: {name} is {value!r}; it is one of {', '.join(schema['enum'])}")
        if kind is int and value < schema.get("minimum", value):
            raise ServiceError(f"400: {name} is {value}; it is {schema['minimum']} or more")
    return query


def _found(rows: list[Row], key: str, collection: str) -> Row:
    for row in rows:
        if row["id"] == key:
            return row
    raise ServiceError(f"404: no id {key!r} in {collection}; ids: {rows[0]['id']} to {rows[-1]['id']}")


def _fits(row: Row, collection: str, asked: Row) -> bool:
    day = str(row[DATES[collection]])[:10] if collection in DATES else ""
    for name, value in asked.items():
        if name == "limit":
            continue
        if name in ("since", "until"):
            fits = day >= value if name == "since" else day < value
        else:
            fits = row["bikes"] >= value if name == "minBikes" else row[name] == value
        if not fits:
            return False
    return True
