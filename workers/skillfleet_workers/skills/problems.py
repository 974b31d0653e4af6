"""What is wrong with a skill, told so that its author can mend it."""

from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Problem:
    """`code`: stable, kebab-case. `file` is relative to the skill's root; `line` counts from 1, None: it has none.
    An `error` is what the standard forbids or what makes a skill unusable; with a `warning` the skill works."""

    code: str
    message: str
    fix: str
    file: str
    line: int | None = None
    severity: Severity = "warning"

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{place}: {self.message} [{self.code}]"

    def as_json(self) -> dict[str, Any]:
        return {
            "file": self.file, "line": self.line, "code": self.code, "severity": self.severity,
            "message": self.message, "fix": self.fix,
        }  # fmt: skip
