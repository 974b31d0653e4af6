"""What comes back when a skill is activated: its instructions, with commands and arguments filled in."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .call_context import CallContext
from .code_calls import code_tools
from .script_calls import runs_scripts
from .skill_runs import SkillRuns
from .skills.errors import ScriptRefusedError
from .skills.models import Skill
from .skills.paths import listed_files, open_inside, read_piece
from .skills.render import Command, pieces, rendered
from .skills.scripts import scripts_of
from .skills.tool_names import script_tools
from .wire.contract import ActivateSkill, Governing, ScriptTool, SkillContent, ToolError
from .wire.execution import ScriptExecution
from .wire.shown import short

BODY_BYTES = 200_000
RESOURCES = 200
OUTPUT_CHARS = 10_000
REASON_CHARS = 300
LEAST_S = 0.01

READ_ON = (
    "\n[cut at byte {at} of {total}; to read on, call read_file_in_skill with file_path={path!r} and offset={at}]\n"
)
NOT_ALLOWED = "[command not run: the allowed-tools of this skill do not include Bash]"
NO_TIME = "[command not run: the commands before it took {seconds:g} s]"
NO_INSTRUCTIONS = "This skill has no instructions. It is for: {description}"


@dataclass(frozen=True, slots=True)
class Patience:
    """How long commands may take: each of them, and all of one skill together; seconds."""

    each_s: float = 10.0
    all_s: float = 30.0


PATIENCE = Patience()


class _CancelledError(Exception):
    """Nobody waits for the activation any more."""


@dataclass(frozen=True, slots=True)
class _Part:
    """A file of instructions, from the byte `at` on."""

    path: str
    at: int = 0


def activated(
    skill: Skill,
    digest: str,
    request: ActivateSkill,
    runs: SkillRuns,
    context: CallContext,
    patience: Patience = PATIENCE,
) -> SkillContent | ToolError:
    """Raises: RuntimeUnavailableError: a command was lost."""
    if skill.disable_model_invocation:
        return _not_for_models(skill)
    template = _template(skill)
    if isinstance(template, ToolError):
        return template
    names = _names(skill, context)
    found = pieces(template)
    commands = [piece for piece in found if isinstance(piece, Command)]

    def run(command: Command, timeout_s: float) -> ScriptExecution:
        return runs.command(skill, command.line, timeout_s, context, variables=names)

    try:
        outputs = list(_outputs(skill, commands, run, patience))
    except _CancelledError:
        return _cancelled(skill)
    return SkillContent(
        skill_name=skill.name,
        text=rendered(found, outputs, request.arguments, names),
        arguments=request.arguments,
        resources=_resources(skill),
        scripts=tools_of(skill),
        governing=governing(skill, digest),
    )


def _not_for_models(skill: Skill) -> ToolError:
    return ToolError(
        error="not_for_models",
        message=f"The skill {skill.name!r} may be activated by people only (disable-model-invocation).",
        fix="Do without it, or tell the user to activate it.",
    )


def _cancelled(skill: Skill) -> ToolError:
    return ToolError(
        error="cancelled",
        message=f"The call was cancelled while {skill.name!r} was being activated.",
        fix="Call it again if it is still wanted.",
    )


def governing(skill: Skill, digest: str) -> Governing:
    return Governing(
        skill=skill.name,
        digest=digest,
        version=skill.version,
        model=skill.model,
        allowed_tools=skill.allowed_tools,
        pre_hook=skill.pre_hook,
        post_hook=skill.post_hook,
        fork=skill.fork,
        agent=skill.agent,
    )


def tools_of(skill: Skill) -> tuple[ScriptTool, ...]:
    """What the skill can run."""
    scripts = script_tools(skill, scripts_of(skill)) if runs_scripts(skill) else ()
    return (*code_tools(skill), *scripts)


def _template(skill: Skill) -> str | ToolError:
    """SKILL.md without its frontmatter, then the behavioural prompt."""
    wanted = [_Part(skill.documentation, skill.body_offset)] if skill.documentation else []
    wanted += [_Part(skill.prompt)] if skill.prompt else []
    texts = []
    for part in wanted:
        text = _read(skill, part)
        if isinstance(text, ToolError):
            return text
        if text.strip():
            texts.append(text)
    return "\n\n".join(texts) or NO_INSTRUCTIONS.format(description=skill.description)


def _read(skill: Skill, part: _Part) -> str | ToolError:
    file = open_inside(skill.root, part.path)
    if isinstance(file, ToolError):
        return file
    with file:
        piece = read_piece(file, part.at, BODY_BYTES)
    if isinstance(piece, ToolError):
        return piece.model_copy(update={"message": f"{part.path}: {piece.message}"})
    text, next_offset, total = piece
    return text if next_offset is None else text + READ_ON.format(at=next_offset, total=total, path=part.path)


def _resources(skill: Skill) -> tuple[str, ...]:
    files = listed_files(skill.root, limit=RESOURCES + 1)
    return tuple(path for path in files if path != skill.documentation)[:RESOURCES]


def _names(skill: Skill, context: CallContext) -> dict[str, str]:
    conversation = context.ref.conversation_id
    return {
        "CLAUDE_SESSION_ID": conversation,
        "SKILLFLEET_CONVERSATION_ID": conversation,
        "CLAUDE_SKILL_DIR": str(skill.root),
    }


def _outputs(
    skill: Skill,
    commands: Sequence[Command],
    run: Callable[[Command, float], ScriptExecution],
    patience: Patience,
) -> Iterator[str]:
    """Raises: _CancelledError, RuntimeUnavailableError"""
    if not runs_scripts(skill):
        yield from (NOT_ALLOWED for _ in commands)
        return
    left = patience.all_s
    for command in commands:
        if left <= LEAST_S:
            yield NO_TIME.format(seconds=patience.all_s)
            continue
        began = time.monotonic()
        try:
            done = run(command, min(left, patience.each_s))
        except ScriptRefusedError as refused:
            yield f"[command failed: {short(refused, REASON_CHARS)}]"
            continue
        left -= time.monotonic() - began
        if done.status == "cancelled":
            raise _CancelledError
        yield _output(done)


def _output(run: ScriptExecution) -> str:
    if run.success:
        text = run.stdout.rstrip("\n")
        return text if len(text) <= OUTPUT_CHARS else f"{text[:OUTPUT_CHARS]}\n[cut after {OUTPUT_CHARS} characters]"
    said = run.stderr.strip() or run.stdout.strip()
    return f"[command failed: {_how(run)}{f': {short(said, REASON_CHARS)}' if said else ''}]"


def _how(run: ScriptExecution) -> str:
    if run.status == "failed" and run.returncode is not None:
        return f"exit {run.returncode}"
    if run.timed_out:
        return f"timed out after {run.timeout:g} s"
    return run.error or run.signal or run.status
