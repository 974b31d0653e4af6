"""What a script says it is for (pure)."""

import re

from .languages import ScriptType

MAX_DESCRIPTION = 500

_INLINE_METADATA = re.compile(r"^# /// .*?^# ///[ \t]*$\n?", re.DOTALL | re.MULTILINE)
_FOR_TOOLS = re.compile(
    r"#!|#\s*(?:-\*-|(?:en)?coding[:=]|frozen_string_literal:|vim:|shellcheck |ruff:|pylint:|mypy:)"
)
_LEGAL = re.compile(r"copyright|spdx-|licensed under", re.IGNORECASE)
_STATEMENT = r"'use strict'|\"use strict\"|use (?:strict|warnings|utf8)|set [-+]\w+(?: pipefail)?"
_PROLOGUE = re.compile(rf"(?:\s+|(?:{_STATEMENT});?[ \t]*(?:\n|\Z))*")

_HASHES = re.compile(r"(?:[ \t]*#[^\n]*(?:\n|\Z))+")
_SLASHES = re.compile(r"(?:[ \t]*(?://|#!)[^\n]*(?:\n|\Z))+")
_BLOCK: dict[ScriptType, re.Pattern[str]] = {
    "python": re.compile(r"""[rRuU]?("{3}|'{3}|"|')(?P<inner>.*?)(?:\1|\Z)""", re.DOTALL),
    "javascript": re.compile(r"/\*+(?P<inner>.*?)(?:\*/|\Z)", re.DOTALL),
    "ruby": re.compile(r"=begin\b(?P<inner>.*?)(?:^=end\b[^\n]*|\Z)", re.DOTALL | re.MULTILINE),
    "perl": re.compile(r"=[a-z]\w*[^\n]*(?P<inner>.*?)(?:^=cut\b[^\n]*|\Z)", re.DOTALL | re.MULTILINE),
}
_DECORATION: dict[ScriptType, re.Pattern[str]] = {
    "javascript": re.compile(r"^\s*\*+", re.MULTILINE),
    "perl": re.compile(r"^=\w+.*$", re.MULTILINE),
}


def description(source: str, language: ScriptType) -> str:
    """The first comment block or docstring above the code, in one line; empty where there is none. Notices of
    copyright and what is meant for tools are passed over."""
    text = source.removeprefix("\ufeff").replace("\r\n", "\n")
    if "# /// " in text:
        text = _INLINE_METADATA.sub("", text)
    at = _end_of_prologue(text, 0)
    while block := _block(text, at, language):
        prose, end = block
        if prose and not _LEGAL.search(prose):
            return prose[:MAX_DESCRIPTION].rstrip()
        at = _end_of_prologue(text, end)
    return ""


def _end_of_prologue(text: str, at: int) -> int:
    match = _PROLOGUE.match(text, at)
    return match.end() if match else at


def _block(text: str, at: int, language: ScriptType) -> tuple[str, int] | None:
    """What the comment at `at` says, and where it ends; None: there is something else."""
    if comments := (_SLASHES if language == "javascript" else _HASHES).match(text, at):
        lines = (line.strip() for line in comments[0].splitlines())
        told = (line.lstrip("#/") for line in lines if not _FOR_TOOLS.match(line))
        return " ".join(" ".join(told).split()), comments.end()
    block = _BLOCK[language].match(text, at) if language in _BLOCK else None
    if block is None:
        return None
    inner = _DECORATION[language].sub("", block["inner"]) if language in _DECORATION else block["inner"]
    return " ".join(inner.split()), block.end()
