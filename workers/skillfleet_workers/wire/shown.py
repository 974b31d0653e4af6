"""What the model is shown of a result, and the short readable forms for Flower and the terminal (pure)."""

import json
import re
from collections.abc import Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from .contract import Document, Result, ScriptTool, SkillContent, SkillList, ToolError
from .execution import RESULT_EVENT, ScriptExecution

SHOWN_LIMIT_CHARS = 24_000
"""Most characters of one stream of one run that the model is shown: head and tail of it."""

LOST_OUTPUT_CHARS = 2_000
"""Most characters of a run's output that are told where it was lost."""

SHOWN_SCRIPTS = 50
"""Most scripts of a skill that are listed after its documentation."""

_OWN_TAG = re.compile(r"<(\s*/?\s*skill_(?:content|resources)\b)", re.IGNORECASE)
_POINTER = re.compile(r"(\[\.\.\. \d+ characters left out); read_output with call='[\d.]+' brings all(?= \.\.\.\])")
_ALWAYS = ("status", "returncode", "stdout", "stderr")
_WHEN_SET = ("error", "signal", "leftover_killed")


def shown_to_model(result: Result, key: str = "") -> str:
    """`key`: of the call that brought it (CallRef.key), by which the model can read what is left out here."""
    match result:
        case SkillList():
            return json.dumps([s.model_dump() for s in result.skills], ensure_ascii=False)
        case Document():
            return result.text + _read_on(result) + _scripts(result.scripts)
        case SkillContent():
            return _content(result) + _scripts(result.scripts)
        case ScriptExecution():
            return json.dumps(_shown_execution(result, key), ensure_ascii=False)
        case ToolError():
            return json.dumps(result.model_dump(), ensure_ascii=False)


def without_pointers(text: str) -> str:
    """What was shown, where its calls can no longer be named: the text does not say how to read what it left out."""
    return _POINTER.sub(r"\1", text)


def call_status(result: Result) -> str:
    """The status that the ledger keeps: a ScriptExecution's own, else `succeeded` or `tool_error`."""
    if isinstance(result, ScriptExecution):
        return result.status
    return "tool_error" if isinstance(result, ToolError) else "succeeded"


def short(value: object, limit: int = 60) -> str:
    """One line of at most `limit` characters."""
    text = " ".join(str(value).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def is_text(name: str) -> bool:
    """A name with lone surrogates is neither UTF-8 nor JSON."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def readable_arguments(request: dict[str, Any]) -> str:
    """How a call looks in Flower: `skill_name=csv-insights, script=from scripts.insights import…`."""
    return ", ".join(f"{name}={short(value)}" for name, value in request.items() if value is not None)


def output_tail(result: Result, limit: int = 400) -> str:
    """The end of what a call brought, for people who follow the conversation."""
    match result:
        case ScriptExecution():
            text = _results(result) or result.stdout.strip() or result.stderr.strip() or result.error or ""
        case SkillList():
            text = ", ".join(s.name for s in result.skills)
        case Document():
            text = f"{result.path}: {result.total_bytes} bytes"
        case SkillContent():
            text = f"{result.skill_name} is active"
        case ToolError():
            text = result.message
    return text if len(text) <= limit else "…" + text[-limit:]


def how_lost(result: Result) -> str:
    """Of a run that was lost: how, and the end of what it had written. Of any other result nothing."""
    if not isinstance(result, ScriptExecution) or result.status != "lost":
        return ""
    how = result.error or result.status
    written = output_tail(result.model_copy(update={"error": ""}), LOST_OUTPUT_CHARS)
    return f"{how}; its output until then: {written}" if written else how


def _results(run: ScriptExecution) -> str:
    return "" if run.result is None else json.dumps(run.result, ensure_ascii=False)


def _read_on(document: Document) -> str:
    if document.next_offset is None:
        return ""
    return (
        f"\n[cut at byte {document.next_offset} of {document.total_bytes}; "
        f"to read on, call again with offset={document.next_offset}]"
    )


def _content(skill: SkillContent) -> str:
    """No text in it can close the element, or open one that looks like ours; but for that it stays as it is."""
    body = _OWN_TAG.sub(r"&lt;\1", skill.text.strip("\n"))
    shown = f"<skill_content name={quoteattr(skill.skill_name)}>\n{body}\n</skill_content>"
    if not skill.resources:
        return shown
    files = "".join(f"  <file>{escape(path)}</file>\n" for path in skill.resources)
    return f"{shown}\n<skill_resources>\n{files}</skill_resources>"


def _scripts(tools: Sequence[ScriptTool]) -> str:
    own = [f"- {tool.tool}: {tool.description}" for tool in tools if not tool.script]
    scripts = [tool for tool in tools if tool.script]
    listed = [
        f"- {tool.script} ({tool.language}; {tool.tool})"
        + (f": {short(tool.description, 200)}" if tool.description else "")
        for tool in scripts[:SHOWN_SCRIPTS]
    ]
    if len(scripts) > SHOWN_SCRIPTS:
        listed.append(f"- and {len(scripts) - SHOWN_SCRIPTS} more")
    titled = (
        ("Scripts that run_skill_script runs, with the tool that stands for each", listed),
        ("Tools that run your Python code over this skill's data", own),
    )
    return "".join("\n".join([f"\n\n[{title}]", *lines]) for title, lines in titled if lines)


def _shown_execution(run: ScriptExecution, key: str) -> dict[str, Any]:
    shown: dict[str, Any] = {name: getattr(run, name) for name in _ALWAYS}
    shown |= {"stdout": _middle_out(run.stdout, key), "stderr": _middle_out(run.stderr, key)}
    shown |= {name: value for name in _WHEN_SET if (value := getattr(run, name))}
    if run.timed_out:
        shown["timeout"] = run.timeout
    for event in run.events:
        if event.get("type") == RESULT_EVENT:
            shown |= _shown_result(event, key)
    if run.artifacts:
        shown["artifacts"] = [a.model_dump(exclude={"location", "digest"}) for a in run.artifacts]
    return shown


def _shown_result(event: dict[str, Any], key: str) -> dict[str, Any]:
    """The value itself, where it is not too long; else a text with the beginning and the end of it."""
    if event.get("truncated"):
        return {"result": _middle_out(event["value"], key), "result_bytes": event["bytes"], "result_truncated": True}
    text = json.dumps(event["value"], ensure_ascii=False)
    if len(text) <= SHOWN_LIMIT_CHARS:
        return {"result": event["value"]}
    return {"result": _middle_out(text, key), "result_truncated": True}


def _middle_out(text: str, key: str) -> str:
    if len(text) <= SHOWN_LIMIT_CHARS:
        return text
    half = SHOWN_LIMIT_CHARS // 2
    left_out = len(text) - 2 * half
    how = f"; read_output with call='{key}' brings all" if key else ""
    return f"{text[:half]}\n[... {left_out} characters left out{how} ...]\n{text[-half:]}"
