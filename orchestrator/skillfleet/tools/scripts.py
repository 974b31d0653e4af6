"""What a skill that was read brings: each script as a tool of its own, and the tools of the contract that are of use
with it (pure)."""

import re
from collections.abc import Iterable

from skillfleet_workers.wire.contract import RUN_PYTHON, RUN_SCRIPT, TASK_BY_TOOL, ScriptTool
from skillfleet_workers.wire.shown import short

from ..conversations.models import Conversation
from ..conversations.runs import OfferedScript

MAX_SCRIPTS = 64
"""Most of them in a conversation: providers take 128 tools. The others are still run by `run_skill_script`."""

MAX_DESCRIPTION_CHARS = 300
MAX_HINTS_CHARS = 2000
"""Of what the skills of a conversation tell about one tool."""

TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What model providers accept."""


def with_scripts(conversation: Conversation, skill_name: str, scripts: Iterable[ScriptTool]) -> Conversation:
    """The conversation, with these offered from its next turn on: each name once, first come, first served."""
    tools = {tool.function.name for tool in conversation.spec.tools}
    offered = {script.name: script for script in conversation.scripts}
    for script in scripts:
        task = TASK_BY_TOOL.get(script.tool)
        if task is not None:
            if task.on_demand and RUN_PYTHON.tool in tools:  # who may run any code may run this
                offered[script.tool] = _hinted(offered.get(script.tool), script)
        elif RUN_SCRIPT.tool in tools and len(offered) < MAX_SCRIPTS and TOOL_NAME.fullmatch(script.tool):
            offered.setdefault(script.tool, _offered(skill_name, script))
    return conversation.model_copy(update={"scripts": tuple(offered.values())})


def _offered(skill_name: str, script: ScriptTool) -> OfferedScript:
    return OfferedScript(
        name=script.tool,
        skill_name=skill_name,
        script=script.script,
        description=short(script.description, MAX_DESCRIPTION_CHARS),
        language=script.language,
        parameters=script.parameters,
    )


def _hinted(before: OfferedScript | None, tool: ScriptTool) -> OfferedScript:
    """One tool for all skills that have a use for it: it tells what each of them said."""
    said = before.description if before else ""
    hint = short(tool.description, MAX_HINTS_CHARS)
    if hint in said or len(said) + len(hint) > MAX_HINTS_CHARS:
        return before or OfferedScript(name=tool.tool, description=hint)
    return OfferedScript(name=tool.tool, description=f"{said} {hint}".strip())
