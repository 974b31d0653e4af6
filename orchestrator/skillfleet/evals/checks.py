"""What of a case's checks an ended conversation does not pass (pure but for the time that a pattern may take)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from skillfleet_workers.wire.json_patterns import SlowPatternError, found
from skillfleet_workers.wire.shown import short

from ..conversations.answers import Unfit, read_answer
from ..conversations.messages import Message, ToolCall
from ..conversations.models import Conversation
from ..conversations.report import Report
from .cases import Checks

SHOWN_CHARS = 200


def failed_checks(checks: Checks, report: Report, conversation: Conversation) -> tuple[str, ...]:
    """Each with what was found instead."""
    return (
        *_status(checks, report),
        *_texts(checks, report.answer),
        *_schema(checks, report.answer),
        *_exits(checks, conversation),
        *_tools(checks, report),
        *_divergences(checks, report),
    )


@dataclass(frozen=True, slots=True)
class MadeCall:
    """`returncode`: of the script that it ran; None: none ran, or it was not told."""

    tool: str
    skill: str
    script: str
    returncode: int | None

    def known_as(self, name: str) -> bool:
        return bool(name) and name in (self.tool, self.skill, self.script, f"{self.skill}/{self.script}")


def made_calls(conversation: Conversation) -> tuple[MadeCall, ...]:
    """Those of its own turns, in order."""
    offered = {script.name: script.given for script in conversation.scripts}
    own = conversation.messages[len(conversation.spec.opening) :]
    made: list[MadeCall] = []
    for at, message in enumerate(own):
        answers = {one.tool_call_id: one for one in _answers(own[at + 1 :])}
        for call in message.tool_calls or ():
            given = {**_object(call.function.arguments), **offered.get(call.function.name, {})}
            made.append(_made(call, given, answers.get(call.id)))
    return tuple(made)


def _made(call: ToolCall, given: dict[str, Any], answer: Message | None) -> MadeCall:
    code = _object(answer.content or "").get("returncode") if answer else None
    script = str(given.get("script", "")) if call.function.name != "run_python_script" else ""
    return MadeCall(
        call.function.name, str(given.get("skill_name", "")), script, code if isinstance(code, int) else None
    )


def _answers(messages: tuple[Message, ...]) -> Iterator[Message]:
    for message in messages:
        if message.role != "tool":
            return
        yield message


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _status(checks: Checks, report: Report) -> Iterator[str]:
    if report.status != checks.status:
        why = f" ({report.error.message})" if report.error else ""
        yield f"status: it is {report.status}, not {checks.status}{why}"


def _texts(checks: Checks, answer: str | None) -> Iterator[str]:
    text, shown = answer or "", "there is no answer" if answer is None else f"the answer is {_quoted(answer)}"
    yield from (f"contains: no {_quoted(one)}; {shown}" for one in checks.contains if one not in text)
    yield from (f"not_contains: there is {_quoted(one)}; {shown}" for one in checks.not_contains if one in text)
    for pattern in checks.regex:
        try:
            if not found(pattern, text):
                yield f"regex: nothing fits {_quoted(pattern)}; {shown}"
        except SlowPatternError:
            yield f"regex: {_quoted(pattern)} took too long; write it without nested repeats"


def _schema(checks: Checks, answer: str | None) -> Iterator[str]:
    if checks.json_schema is not None:
        read = read_answer(answer or "", checks.json_schema)
        if isinstance(read, Unfit):
            yield f"json_schema: {'; '.join(read.why[:3])}"


def _exits(checks: Checks, conversation: Conversation) -> Iterator[str]:
    made = made_calls(conversation) if checks.script_exit else ()
    for name, code in checks.script_exit.items():
        of_name = [call for call in made if call.known_as(name)]
        if not of_name:
            yield f"script_exit: {name} was not called"
        elif of_name[-1].returncode != code:
            ran = of_name[-1].returncode
            yield f"script_exit: {name} " + (f"exited {ran}, not {code}" if ran is not None else "did not run")


def _tools(checks: Checks, report: Report) -> Iterator[str]:
    called = {call.name for call in report.tool_calls}
    used = {call.name for call in report.tool_calls if call.status != "tool_error"}
    shown = f"used were {', '.join(sorted(used)) or 'none'}"
    yield from (f"tools_used: not {name}; {shown}" for name in checks.tools_used if name not in used)
    yield from (f"tools_not_used: {name} was called" for name in checks.tools_not_used if name in called)


def _divergences(checks: Checks, report: Report) -> Iterator[str]:
    for one in report.divergences[:3] if checks.no_divergence else ():
        then, now = (short(json.dumps(value, ensure_ascii=False), SHOWN_CHARS) for value in (one.then, one.now))
        yield f"no_divergence: turn {one.turn}, {one.place}: it was {then} and is {now}"


def _quoted(text: str) -> str:
    return repr(short(text, SHOWN_CHARS))
