"""Turn findings (JSON: title, summary, sections with text, points and tables) into a Markdown report."""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Template
from typing import Any

from scripts.readability import measure

TEMPLATE = Path(__file__).parent.parent / "assets" / "report.md"

Findings = Mapping[str, Any]


class ReportError(ValueError):
    """The findings do not make a report; the message names the place and says why, in one line."""


def render(findings: Findings, template: str = "") -> str:
    """`template` holds $title, $byline, $summary and $sections; without it, assets/report.md.

    Raises:
        ReportError: a required text is missing, or a value has the wrong shape.
    """
    if not isinstance(findings, Mapping):
        raise ReportError("findings must be an object with title, summary and sections")
    byline = " · ".join(_text(findings, key) for key in ("author", "date") if findings.get(key))
    sections = [_section(section, f"sections[{i}]") for i, section in enumerate(_list(findings, "sections"))]
    if not sections:
        raise ReportError("sections: at least one is needed")
    parts = {
        "title": _text(findings, "title"),
        "byline": f"*{byline}*\n\n" if byline else "",
        "summary": _text(findings, "summary"),
        "sections": "\n\n".join(sections),
    }
    try:
        return Template(template or TEMPLATE.read_text(encoding="utf-8")).substitute(parts).strip() + "\n"
    except KeyError as error:
        raise ReportError(f"template: unknown name ${error.args[0]}; known: {', '.join(parts)}") from None
    except ValueError as error:
        raise ReportError(f"template: {error}") from None


def write(findings: Findings, output: str = "report.md", template: str = "") -> dict[str, float | str]:
    """Render into the folder SKILLFLEET_OUTPUT_DIR (else the current one).

    Gives the file's name and what readability.measure says of it.

    Raises:
        ReportError: as render; or the output is no plain file name, or can't be written.
    """
    if Path(output).name != output:
        raise ReportError(f"output must be a file name without folders: {output}")
    report = render(findings, template)
    try:
        (Path(os.environ.get("SKILLFLEET_OUTPUT_DIR", ".")) / output).write_text(report, encoding="utf-8")
    except OSError as error:
        raise ReportError(f"cannot write {output}: {error.strerror}") from None
    return {"file": output} | measure(report)


def table(rows: object, where: str = "table") -> str:
    """Markdown of a list of objects (their keys are the columns), or of {"columns": [...], "rows": [[...]]}."""
    if isinstance(rows, Mapping):
        columns = list(map(str, _list(rows, "columns", where)))
        cells = _list(rows, "rows", where)
    elif isinstance(rows, list) and all(isinstance(row, Mapping) for row in rows):
        columns = list(dict.fromkeys(str(key) for row in rows for key in row))
        cells = [[row.get(column, "") for column in columns] for row in rows]
    else:
        raise ReportError(f"{where}: a list of objects, or an object with columns and rows, is needed")
    for row in cells:
        if not isinstance(row, list) or len(row) != len(columns):
            raise ReportError(f"{where}: each row needs {len(columns)} values")
    return "\n".join(map(_line, [columns, ["---"] * len(columns), *cells]))


def _section(section: object, where: str) -> str:
    if not isinstance(section, Mapping):
        raise ReportError(f"{where}: an object with a heading is needed")
    blocks = [f"## {_text(section, 'heading', where)}"]
    if section.get("text"):
        blocks.append(str(section["text"]).strip())
    if section.get("points"):
        blocks.append("\n".join(f"- {_one_line(point)}" for point in _list(section, "points", where)))
    if section.get("table"):
        blocks.append(table(section["table"], f"{where}.table"))
    if section.get("image"):
        blocks.append(f"![{_text(section, 'heading', where)}]({_text(section, 'image', where)})")
    return "\n\n".join(blocks)


def _text(source: Findings, key: str, where: str = "") -> str:
    value = source.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ReportError(f"{_place(where, key)}: a text is needed")
    return _one_line(value)


def _list(source: Findings, key: str, where: str = "") -> list[Any]:
    value = source.get(key, [])
    if not isinstance(value, list):
        raise ReportError(f"{_place(where, key)}: a list is needed")
    return value


def _place(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _line(cells: Iterable[object]) -> str:
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(value: object) -> str:
    text = format(value, ".6g") if isinstance(value, float) else "" if value is None else str(value)
    return _one_line(text).replace("|", "\\|")


def _one_line(value: object) -> str:
    return " ".join(str(value).split())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("findings", help="JSON file; - reads standard input")
    parser.add_argument("--output", default="report.md", help="file name, without folders (report.md)")
    parser.add_argument("--template", help="file to use instead of assets/report.md")
    options = parser.parse_args(arguments)
    try:
        template = _read(options.template) if options.template else ""
        print(json.dumps(write(json.loads(_read(options.findings)), options.output, template)))
    except json.JSONDecodeError as error:
        print(f"report: {options.findings} is not JSON: {error}", file=sys.stderr)
        return 1
    except ReportError as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    return 0


def _read(path: str) -> str:
    try:
        return sys.stdin.read() if path == "-" else Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ReportError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ReportError(f"{path}: not UTF-8 text") from None


if __name__ == "__main__":
    sys.exit(main())
