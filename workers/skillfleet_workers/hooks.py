"""The hooks of the skill that governs a call: its author's commands before it, which may refuse it, and after it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .call_context import CallContext
from .skill_runs import SkillRuns
from .skills.errors import ScriptRefusedError
from .skills.models import Skill
from .wire.contract import ACTIVATE, GET_SKILL, LIST_SKILLS, CallMessage, Governing, Result, TaskSpec, ToolError
from .wire.execution import ScriptExecution
from .wire.shown import call_status, shown_to_model

HOOK_S = 30.0
OUTPUT_CHARS = 4_000
SHOWN_CHARS = 50_000
"""Of what the model is shown of the result, for the hook after the call."""

DISCOVERY = (LIST_SKILLS, GET_SKILL, ACTIVATE)
"""No hook runs around these."""

CANCELLED = ToolError(
    error="cancelled",
    message="The call was cancelled while a hook of the skill that governs it ran.",
    fix="Call it again if it is still wanted.",
)
Find = Callable[[str, str], Skill | ToolError]
"""A skill by its name and digest."""


@dataclass(frozen=True, slots=True)
class Hooks:
    find: Find
    runs: SkillRuns
    timeout_s: float = HOOK_S

    def around(
        self, spec: TaskSpec[Any], message: CallMessage, context: CallContext, call: Callable[[], Result]
    ) -> Result:
        """The result of the call, or why it was not made. What a failing hook after it says becomes a note.

        Raises:
            RuntimeUnavailableError: a hook was lost: whether it did its work is not known.
        """
        governing = message.governing
        if governing is None or spec in DISCOVERY or not (governing.pre_hook or governing.post_hook):
            return call()
        skill = self.find(governing.skill, governing.digest)
        if isinstance(skill, ToolError):
            return _blocked(governing, f"its skill cannot be used here: {skill.message}")
        hook = _Hook(skill, governing, self.runs, self.timeout_s, spec.tool, message, context)
        if governing.pre_hook and (refused := hook.before()):
            return refused
        result = call()
        if governing.post_hook and not context.cancelled.is_set() and not _was_lost(result):
            context.notes.added += hook.after(result)
        return result


@dataclass(frozen=True, slots=True)
class _Hook:
    skill: Skill
    governing: Governing
    runs: SkillRuns
    timeout_s: float
    tool: str
    message: CallMessage
    context: CallContext

    def before(self) -> ToolError | None:
        try:
            run = self._run(self.governing.pre_hook, "PreToolExecution")
        except ScriptRefusedError as refused:
            return _blocked(self.governing, str(refused))
        if run.status == "cancelled":
            return CANCELLED
        return None if run.success else _blocked(self.governing, _said(run))

    def after(self, result: Result) -> str:
        about = {"status": call_status(result), "shown": shown_to_model(result)[:SHOWN_CHARS]}
        try:
            run = self._run(self.governing.post_hook, "PostToolExecution", result=about)
        except ScriptRefusedError as refused:
            said = str(refused)
        else:
            if run.success or run.status == "cancelled":
                return ""
            said = _said(run)
        return f"\n\n[the hook of the skill {self.governing.skill!r} after this call: {said}]"

    def _run(self, command: str, event: str, **more: Any) -> ScriptExecution:
        told = {
            "event": event,
            "tool": self.tool,
            "input": self.message.request,
            "skill": self.governing.skill,
            "call_id": self.message.ref.call_id,
            **more,
        }
        return self.runs.command(
            self.skill,
            command,
            self.timeout_s,
            self.context,
            stdin=json.dumps(told, ensure_ascii=False).encode("utf-8", "replace"),
            variables={"SKILLFLEET_TOOL_NAME": self.tool},
        )


def _blocked(governing: Governing, said: str) -> ToolError:
    return ToolError(
        error="blocked_by_hook",
        message=f"A hook of the skill {governing.skill!r} does not let this call through: {said}",
        fix="Do what it says, or do without this call.",
    )


def _said(run: ScriptExecution) -> str:
    text = run.stderr.strip() or run.stdout.strip() or run.error or f"it ended with {run.returncode}"
    return text if len(text) <= OUTPUT_CHARS else f"{text[:OUTPUT_CHARS]} [cut]"


def _was_lost(result: Result) -> bool:
    return isinstance(result, ScriptExecution) and result.status == "lost"
