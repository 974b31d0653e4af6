"""The typed contract between the two sides: one TaskSpec per tool, its request and its result.

Requests and results only grow: a field may be added with a default, none is renamed or removed.
A request model's docstring and fields are what the language model is told about the tool.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from .execution import ScriptExecution
from .files import StoredFile
from .quotes import Quote

READ_LIMIT_BYTES = 32_768
"""Most bytes of a document that one read returns; the rest is read on with `offset`."""

MAX_TIMEOUT_SECONDS = 3600

Effects = Literal["pure", "idempotent", "unsafe"]


class WireModel(BaseModel):
    """Frozen; unknown fields are ignored, so that version N reads what version N+1 writes."""

    model_config = ConfigDict(frozen=True, extra="ignore")


SKILL_NAME = Field(description="Skill folder name")
OFFSET = Field(default=0, ge=0, description="Byte to start at; to read on, pass the next_offset of the last read")
TIMEOUT = Field(default=None, ge=1, le=MAX_TIMEOUT_SECONDS, description="Seconds; leave out for the default")


class ListSkills(WireModel):
    """List all available skills in the skills folder, with what each is for."""

    tags: tuple[str, ...] = Field(default=(), description="Only skills that have all of these tags")


class GetSkill(WireModel):
    """Read the SKILL.md documentation of a skill. It is the skill's table of contents: read it before use."""

    skill_name: str = SKILL_NAME
    offset: int = OFFSET


class ReadFileInSkill(WireModel):
    """Read any text file in a skill's folder. Use when SKILL.md refers to further files."""

    skill_name: str = SKILL_NAME
    file_path: str = Field(description="Relative path within the skill (e.g. 'examples/usage.py')")
    offset: int = OFFSET


class RunPythonScript(WireModel):
    """Run Python code with the skill's own interpreter and packages, in the skill's folder (its modules can
    be imported, its files opened by relative path). Returns stdout, stderr and the exit code. Files that the
    code should hand back go into the folder named by the environment variable SKILLFLEET_OUTPUT_DIR."""

    skill_name: str = SKILL_NAME
    script: str = Field(description="Python code to execute")
    timeout: int | None = TIMEOUT


class RunSkillScript(WireModel):
    """Run a script that a skill brings along, with the interpreter that its language needs, in the skill's folder.
    Returns stdout, stderr and the exit code. get_skill lists a skill's scripts and says how to call them."""

    skill_name: str = SKILL_NAME
    script: str = Field(description="Script name without its extension (e.g. 'extract'), or its path in the skill")
    arguments: dict[str, Any] | None = Field(
        default=None, description="JSON object that the script reads from its standard input"
    )
    args: tuple[str, ...] | None = Field(
        default=None, description="Command-line arguments (e.g. ['--pages', '3', 'data/in.pdf'])"
    )
    timeout: int | None = TIMEOUT


CODE = Field(description="Python code; the value of its last line, or what it assigns to `result`, comes back")


class SearchSpec(WireModel):
    """Look something up with Python code in `spec`, the data that describes a service: for example
    [path for path in spec['paths'] if '/users' in path]. It calls nothing and changes nothing."""

    skill_name: str = SKILL_NAME
    code: str = CODE
    timeout: int | None = TIMEOUT


class ExecuteCode(WireModel):
    """Run Python code over `spec`, the data that describes a service, and `ctx`, what there is to use it with. What
    the code prints comes back too. Its result must be JSON: dicts, lists, texts and numbers."""

    skill_name: str = SKILL_NAME
    code: str = CODE
    timeout: int | None = TIMEOUT


class ActivateSkill(WireModel):
    """Activate a skill: its full instructions come back, and govern what you do until you activate another skill or
    answer. Activate a skill as soon as its description fits the task, before you work on it."""

    name: str = Field(description="Name of the skill, as it is listed")
    arguments: str = Field(default="", description="What the skill is to work on, where it asks for arguments")


class SkillSummary(WireModel):
    name: str
    description: str
    version: str = ""
    tags: tuple[str, ...] = ()


class SkillList(WireModel):
    skills: tuple[SkillSummary, ...]


class ScriptTool(WireModel):
    """A script of a skill as a tool of its own: `tool` is its name, `script` its path in the skill.

    Where `tool` is one of the contract's own, that one is offered: `script` is empty, and `description` tells what
    the model will find in this skill. `parameters`: the JSON Schema of its arguments, where the skill has one.
    """

    tool: str
    script: str
    description: str = ""
    language: str
    parameters: dict[str, Any] | None = None


class Document(WireModel):
    """A piece of a text file. Offsets and sizes are bytes of the file; pieces end on a character. `scripts`: what
    the skill can run, with the first piece of its documentation."""

    skill_name: str
    path: str
    text: str
    offset: int
    next_offset: int | None
    total_bytes: int
    scripts: tuple[ScriptTool, ...] = ()


class UsedSkill(WireModel):
    """Which state of which skill a call really used."""

    name: str
    version: str
    digest: str


class Governing(WireModel):
    """What an activated skill decides until the next activation or the answer (seed 004). `allowed_tools` None: it
    forbids nothing. `model` empty: it has no wish. `fork`: its instructions are worked on by a child conversation,
    not by the one that activated it."""

    skill: str
    digest: str = ""
    version: str = ""
    model: str = ""
    allowed_tools: tuple[str, ...] | None = None
    pre_hook: str = ""
    post_hook: str = ""
    fork: bool = False
    agent: str = ""


class SkillContent(WireModel):
    """An activated skill: its instructions, with commands and arguments filled in (`text`), and the files that it
    has. `scripts`: what it can run."""

    skill_name: str
    text: str
    arguments: str = ""
    resources: tuple[str, ...] = ()
    scripts: tuple[ScriptTool, ...] = ()
    governing: Governing


class ToolError(WireModel):
    """A failure that the model can read and correct: a value, never an exception."""

    error: str = Field(description="Stable snake_case code")
    message: str
    fix: str


Request = TypeVar("Request", bound=WireModel)
Result = SkillList | Document | SkillContent | ScriptExecution | ToolError


@dataclass(frozen=True, slots=True)
class TaskSpec(Generic[Request]):
    """One tool as one Celery task. `name` is stable across releases; `tool` is what the model calls it.

    `effects` says what may be done with a call whose worker died (`pure`: run again). `on_demand`: it is offered once
    a skill that has a use for it was read.
    """

    name: str
    tool: str
    request: type[Request]
    result: type[BaseModel]
    effects: Effects
    on_demand: bool = False


LIST_SKILLS = TaskSpec("skills.list", "list_skills", ListSkills, SkillList, "pure")
GET_SKILL = TaskSpec("skills.get", "get_skill", GetSkill, Document, "pure")
ACTIVATE = TaskSpec("skills.activate", "skill", ActivateSkill, SkillContent, "idempotent")
READ_FILE = TaskSpec("skills.read_file", "read_file_in_skill", ReadFileInSkill, Document, "pure")
RUN_PYTHON = TaskSpec("skills.run_python", "run_python_script", RunPythonScript, ScriptExecution, "unsafe")
RUN_SCRIPT = TaskSpec("skills.run_script", "run_skill_script", RunSkillScript, ScriptExecution, "unsafe")
SEARCH_SPEC = TaskSpec("skills.search", "search", SearchSpec, ScriptExecution, "pure", on_demand=True)
EXECUTE_CODE = TaskSpec("skills.execute", "execute", ExecuteCode, ScriptExecution, "unsafe", on_demand=True)

TASKS: tuple[TaskSpec[Any], ...] = (
    LIST_SKILLS, GET_SKILL, ACTIVATE, READ_FILE, RUN_PYTHON, RUN_SCRIPT, SEARCH_SPEC, EXECUTE_CODE,
)  # fmt: skip
TASK_BY_TOOL = {spec.tool: spec for spec in TASKS}


def skill_of(request: Mapping[str, Any]) -> str | None:
    """The skill that a request is about; None: about none."""
    name = request.get("skill_name", request.get("name"))
    return name if isinstance(name, str) else None


DEFAULT_TENANT = "default"
DEFAULT_PRIORITY = 5
"""From 1, which comes first, to 10."""


class CallRef(WireModel):
    """Which attempt at which tool call of which conversation.

    `index` is the call's place in its turn: providers repeat and malform their own call ids.
    """

    conversation_id: str
    turn: int
    index: int
    attempt: int = 1

    @property
    def key(self) -> str:
        return f"{self.turn}.{self.index}"

    @classmethod
    def of_call(cls, call_id: str) -> Self:
        """The first attempt at the call with this id.

        Raises:
            ValueError: no call can have it.
        """
        name, turn, index = call_id.rsplit(".", 2)
        return cls(conversation_id=name, turn=int(turn), index=int(index))

    @property
    def call_id(self) -> str:
        """Of the call, whichever attempt."""
        return f"{self.conversation_id}.{self.key}"

    @property
    def task_id(self) -> str:
        return f"{self.call_id}.{self.attempt}"


class CallMessage(WireModel):
    """The one argument of every task. `skills`: the only skills that this conversation may use; None: all.
    `references`: fields of the request that travel by reference, each with its key. `snapshot`: the id of the
    Snapshot that the conversation keeps to; `digest` of the request's skill in it, or, where it came later, as it was
    used first; empty: whatever there is now. `governing`: the skill whose hooks run around the call.
    `files`: what was handed in with the conversation, for its scripts. `retries`: how many failures of its script are
    followed by a new attempt, None: as its skill says. `quotes`: what its arguments quote of earlier calls; `keeps`:
    what it brings is kept, for calls that quote it."""

    ref: CallRef
    request: dict[str, Any]
    skills: tuple[str, ...] | None = None
    sent_at: float = Field(default=0.0, description="Seconds since the epoch, by the sender's clock")
    references: dict[str, str] = Field(default_factory=dict)
    snapshot: str = ""
    digest: str = ""
    governing: Governing | None = None
    files: tuple[StoredFile, ...] = ()
    retries: int | None = None
    quotes: tuple[Quote, ...] = ()
    keeps: bool = False
