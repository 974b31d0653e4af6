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


FIXES: dict[str, str] = {
    "choice-unknown": "Use one of the values that it names.",
    "compatibility-too-long": "Shorten it to 500 characters; put the rest into the body.",
    "config-invalid": "Correct the value in config.json, or the rule in config-schema.json.",
    "dependency-invalid": "Name a skill, with or without a version: 'name' or 'name@1.2.0'.",
    "description-missing": "Add a description: what the skill does and when to use it.",
    "description-too-long": "Shorten the description; put the rest into the body.",
    "field-invalid": "Give a value that keeps the rule.",
    "field-missing": "Add the field.",
    "field-not-allowed": "Move it under metadata, where every key is allowed.",
    "file-too-large": "Make the file smaller.",
    "file-unreadable": "Make it a regular file inside the skill's folder that the worker may read.",
    "folder-missing": "Give the path of a folder.",
    "frontmatter-missing": "Begin the file with a line of ---, the fields, and another line of ---.",
    "frontmatter-not-a-map": "Write one 'key: value' on each line.",
    "frontmatter-not-strict": "Write plain block YAML: no flow lists or maps, tags, anchors or repeated keys.",
    "frontmatter-not-yaml": "Correct the YAML; put values with special characters into quotes.",
    "frontmatter-unclosed": "Close the frontmatter with a line of ---.",
    "hook-unknown": "Use PreToolExecution or PostToolExecution.",
    "image-invalid": "Give the name of an image: 'name:tag'.",
    "json-invalid": "Correct the JSON.",
    "json-not-an-object": "Put the fields between { and }.",
    "list-too-long": "Keep the most important ones.",
    "loader-failed": "Mend or uninstall the loader, or tell who wrote it.",
    "module-invalid": "Give the dotted name of a Python module.",
    "name-differs": "Give the skill the name of its folder.",
    "name-invalid": "Use 1-64 lower-case letters, digits and single hyphens, in the folder's name too.",
    "name-missing": "Add a name: the folder's.",
    "not-a-list": "Give a list, or words with blanks between them.",
    "not-a-map": "Write 'key: value' lines below it.",
    "not-a-text": "Give a text.",
    "not-utf8": "Save the file as UTF-8.",
    "number-invalid": "Give a whole number in that range.",
    "record-duplicate": "Remove one of them, or give them different versions.",
    "record-folder-missing": "Let path name the skill's folder, relative to the file and below it.",
    "record-invalid": "Write a map with name, version, parameters_schema and path.",
    "records-unreadable": "Write a list of records.",
    "schema-invalid": "Correct the JSON Schema.",
    "skill-md-missing": "Add a file SKILL.md.",
    "tag-too-long": "Shorten the tag to 30 characters.",
    "tool-unknown": "Use the name of a tool that this client offers: Bash, Read, Grep, Glob, or skill__script.",
    "variable-invalid": "Give the name of an environment variable: letters, digits and underscores.",
    "variable-withheld": "Do without it: no skill is given this variable.",
    "version-differs": "Give the skill one version.",
    "version-invalid": "Give a version such as 1.2.0.",
}
"""What mends each problem of reading, by its code."""


def problem(code: str, message: str, file: str, line: int | None = None, severity: Severity = "warning") -> Problem:
    return Problem(code, message, FIXES[code], file, line, severity)
