"""A file of cases: what is submitted, and what is checked; strictly read."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

from skillfleet_workers.wire.json_patterns import compiled

from ..conversations.models import Status
from ..errors import BadRequestError
from ..llm.written import read_written
from ..played import schema_of
from ..settings import PLAYED
from ..submission import Submission

NOT_A_CASES = {"prompt", "idempotency_key", "record"}
"""Fields of a submission that not all cases can share."""


def _several(given: object) -> object:
    return (given,) if isinstance(given, str) else given


def _pattern(given: str) -> str:
    compiled(given)
    return given


Texts = Annotated[tuple[str, ...], BeforeValidator(_several), Field(strict=False)]
Patterns = Annotated[
    tuple[Annotated[str, AfterValidator(_pattern)], ...], BeforeValidator(_several), Field(strict=False)
]


class Checks(BaseModel):
    """`json_schema`: a schema or its file. `script_exit`: the return code of the last call of a tool, a skill or a
    script. `tools_used`: all of them were. `no_divergence`: of a replay."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    status: Status = "completed"
    contains: Texts = ()
    not_contains: Texts = ()
    regex: Patterns = ()
    json_schema: Annotated[dict[str, Any] | None, BeforeValidator(schema_of)] = None
    script_exit: dict[str, int] = Field(default_factory=dict)
    tools_used: Texts = ()
    tools_not_used: Texts = ()
    no_divergence: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    submission: Submission
    checks: Checks


def read_cases(path: Path) -> list[Case]:
    """
    Raises:
        BadRequestError: one line: the file, the place in it, what is wrong with it.
    """
    try:
        written = read_written(path, "cases")
    except ValueError as wrong:
        raise BadRequestError(str(wrong)) from None
    listed = written.get("cases") if isinstance(written, dict) else None
    if not isinstance(written, dict) or not isinstance(listed, list) or not listed:
        raise BadRequestError(f"{path}: has no `cases:`, a list with `name`, `prompt` and `checks`")
    defaults = {name: value for name, value in written.items() if name != "cases"}
    _only_options(defaults, NOT_A_CASES, f"{path}: ")
    cases = [_case(path, f"{path}: cases[{at}]", defaults, one) for at, one in enumerate(listed)]
    name, times = Counter(case.name for case in cases).most_common(1)[0]
    if times > 1:
        raise BadRequestError(f"{path}: {times} cases are named {name!r}; give each its own name")
    return cases


def _case(path: Path, place: str, defaults: dict[str, JsonValue], written: JsonValue) -> Case:
    if not isinstance(written, dict) or not isinstance(written.get("name"), str) or not written["name"]:
        raise BadRequestError(f"{place}: has no `name`; a case is a map with `name`, `prompt` and `checks`")
    place = f"{place} ({written['name']})"
    options = {name: value for name, value in written.items() if name not in ("name", "checks")}
    _only_options(options, NOT_A_CASES - {"prompt"}, f"{place}: ")
    try:
        submission = Submission.of(_beside(path, defaults | options))
    except BadRequestError as wrong:
        raise BadRequestError(f"{place}: {wrong}") from None
    return Case(str(written["name"]), submission, _checks(path, f"{place}: checks", written.get("checks") or {}))


def _checks(path: Path, place: str, written: JsonValue) -> Checks:
    given = _beside(path, written) if isinstance(written, dict) else written
    try:
        return Checks.model_validate(given)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False)[0]
        where = ".".join([place, *(str(step) for step in first["loc"])])
        if first["type"] == "extra_forbidden":
            raise BadRequestError(f"{where}: is no check; there are {', '.join(Checks.model_fields)}") from None
        raise BadRequestError(f"{where}: {first['msg'].removeprefix('Value error, ')}") from None


def _only_options(given: dict[str, JsonValue], refused: set[str], place: str) -> None:
    known = {field.alias or name for name, field in Submission.model_fields.items()} - refused
    for name in given:
        if name not in known:
            raise BadRequestError(f"{place}{name}: is no option here; there are {', '.join(sorted(known))}")


def _beside(path: Path, given: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """With the files that it names looked for in the folder of the file of cases."""
    found = dict(given)
    model = given.get("model")
    if isinstance(model, str) and model.startswith(PLAYED):
        kind, _, name = model.partition(":")
        found["model"] = f"{kind}:{path.parent / name}"
    for field in ("schema", "json_schema"):
        if isinstance(named := given.get(field), str):
            found[field] = str(path.parent / named)
    return found
