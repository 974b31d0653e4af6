"""What cases came to: as one object, and as JUnit's XML."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from pydantic import BaseModel, ConfigDict

from ..conversations.limits import Usage
from ..conversations.models import Conversation, Status
from ..conversations.report import Report
from .cases import Case
from .checks import failed_checks

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class CaseResult(BaseModel):
    """`failed`: the checks that it did not pass, each with what was found."""

    model_config = ConfigDict(frozen=True)

    name: str
    passed: bool
    failed: tuple[str, ...]
    id: str
    status: Status
    answer: str | None
    turns: int
    usage: Usage
    seconds: float

    @property
    def tokens(self) -> int:
        return self.usage.input_tokens + self.usage.output_tokens


def case_result(case: Case, report: Report, conversation: Conversation) -> CaseResult:
    failed = failed_checks(case.checks, report, conversation)
    return CaseResult(
        name=case.name,
        passed=not failed,
        failed=failed,
        id=report.id,
        status=report.status,
        answer=report.answer,
        turns=report.turns,
        usage=report.usage,
        seconds=round(report.elapsed_ms / 1000, 3),
    )


def as_json(results: Sequence[CaseResult]) -> dict[str, Any]:
    passed = sum(result.passed for result in results)
    cases = [result.model_dump(mode="json") for result in results]
    return {"passed": passed, "failed": len(results) - passed, "cases": cases}


def as_junit(suite: str, results: Sequence[CaseResult]) -> bytes:
    failures = sum(not result.passed for result in results)
    counts = {"tests": str(len(results)), "failures": str(failures), "errors": "0"}
    seconds = {"time": f"{sum(result.seconds for result in results):.3f}"}
    top = ElementTree.Element("testsuites", counts | seconds)
    within = ElementTree.SubElement(top, "testsuite", {"name": _xml(suite)} | counts | {"skipped": "0"} | seconds)
    for result in results:
        named = {"name": _xml(result.name), "classname": _xml(Path(suite).stem), "time": f"{result.seconds:.3f}"}
        case = ElementTree.SubElement(within, "testcase", named)
        if result.failed:
            failure = ElementTree.SubElement(case, "failure", {"message": _xml(result.failed[0]), "type": "check"})
            failure.text = _xml("\n".join((*result.failed, f"conversation {result.id}")))
    ElementTree.indent(top)
    return bytes(ElementTree.tostring(top, encoding="utf-8", xml_declaration=True))


def _xml(text: str) -> str:
    """XML has no way at all to write these characters."""
    return _NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text)
