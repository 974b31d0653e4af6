"""What a caller asks for: checked, and made into the spec of a conversation."""

import re
import secrets
import time
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from skillfleet_workers.wire.contract import DEFAULT_PRIORITY, DEFAULT_TENANT

from .conversations.limits import Limits, Problem
from .conversations.messages import Message
from .conversations.models import ConversationSpec
from .errors import BadRequestError
from .handed import HandedFile, Together, together
from .llm.prompts import opening, prompted
from .played import as_recorded, schema_of, script_for, script_of
from .tools.definitions import all_definitions, definition
from .tools.own import ASK_USER, EXECUTE_PLAN, MESSAGING, SPAWNING, OwnTool
from .tools.permission import read_rule

MAX_KEY_CHARS = 200
TENANT = re.compile(r"[A-Za-z0-9_.-]{1,64}")
OPTIONS = {
    "timeout": "--timeout",
    "max_turns": "--max-turns",
    "max_tool_calls": "--max-tool-calls",
    "max_input_tokens": "--max-input-tokens",
    "max_output_tokens": "--max-output-tokens",
    "max_cost": "--max-cost",
    "max_children": "--max-children",
    "idempotency_key": "--idempotency-key",
    "tenant": "--tenant",
    "priority": "--priority",
    "schema": "--schema",
    "person_timeout": "--person-timeout",
}
NAMES = OPTIONS | {
    "images": "--image",
    "files": "--file",
    "prompt": "the prompt",
    "system": "the system prompt",
    "rules": "the rule",
}
LIMITS = {
    "timeout": "timeout_s",
    "person_timeout": "wait_s",
    **{name: name for name in OPTIONS if name.startswith("max_")},
}
"""Fields of a submission, by those of Limits that they set."""


def _text(value: object) -> object:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError("holds half a surrogate pair, which no JSON can carry; send text") from None
    return value


def _key(value: object) -> object:
    if isinstance(value, str) and not 1 <= len(value) <= MAX_KEY_CHARS:
        raise ValueError(f"needs 1 to {MAX_KEY_CHARS} characters")
    return _text(value)


def _tenant(value: object) -> object:
    if isinstance(value, str) and not TENANT.fullmatch(value):
        raise ValueError("needs 1 to 64 letters, digits, '-', '_' or '.'")
    return value


def _rule(value: object) -> object:
    if isinstance(value, str):
        read_rule(value)
    return value


Text = Annotated[str, BeforeValidator(_text)]
RuleText = Annotated[str, BeforeValidator(_rule)]
"""VERDICT:TOOL[@SKILL]"""


class Submission(BaseModel):
    """One conversation as it is asked for. `model`: a name of the provider's, or `scripted:FILE`; empty: the
    orchestrator's own. `timeout`: seconds of wall time; `max_cost`: by the prices of the models. `tenant`: for whom;
    tenants share the fleet alike. `priority` among the tenant's own: 1, which comes first, to 10. `answer_schema`
    (given as `schema`): the JSON Schema that the answer has to fit, a file of it, or a pydantic model class.
    `record`: so that it can be recorded. `images`: for the model, and for scripts; `files`: for scripts; as
    `read_handed` has checked them. `rules`: what a person is asked about, each as VERDICT:TOOL[@SKILL]; the last that
    fits a call decides. `ask_user`: the model may ask questions. `person_timeout`: seconds for which it waits for a
    person at most. `subagents`: it may begin some, `max_children` of them at once, and they may exchange messages.
    `plans`: it may execute plans; `planning`: it does nothing else, until one succeeds."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    prompt: Text
    model: Text = ""
    system: Text | None = None
    skills: Annotated[tuple[Text, ...], Field(strict=False)] | None = None
    timeout: float | None = None
    max_turns: int | None = None
    max_tool_calls: int | None = None
    max_input_tokens: int | None = None
    max_output_tokens: int | None = None
    max_cost: float | None = None
    max_children: int | None = None
    subagents: bool = False
    plans: bool = False
    planning: bool = False
    idempotency_key: Annotated[str, BeforeValidator(_key)] | None = None
    tenant: Annotated[str, BeforeValidator(_tenant)] | None = None
    priority: Annotated[int, Field(ge=1, le=10)] | None = None
    rules: Annotated[tuple[RuleText, ...], Field(strict=False)] = ()
    ask_user: bool = False
    person_timeout: float | None = None
    answer_schema: Annotated[dict[str, Any] | None, BeforeValidator(schema_of)] = Field(default=None, alias="schema")
    record: bool = False
    images: tuple[HandedFile, ...] = ()
    files: tuple[HandedFile, ...] = ()

    @property
    def handed(self) -> tuple[HandedFile, ...]:
        return (*self.images, *self.files)

    @property
    def _further_tools(self) -> tuple[OwnTool, ...]:
        asking = (ASK_USER,) if self.ask_user else ()
        plans = (EXECUTE_PLAN,) if self.plans or self.planning else ()
        return (*asking, *plans, *SPAWNING, *MESSAGING) if self.subagents else (*asking, *plans)

    @classmethod
    def of(cls, given: dict[str, Any], *, goes_on: bool = False) -> Self:
        """`goes_on`: from a conversation that has ended, whose own it keeps, also where it is a replay.

        Raises:
            BadRequestError: one line: what is wrong, and where.
        """
        try:
            asked = cls.model_validate(given if goes_on else as_recorded(given))
        except ValidationError as wrong:
            raise BadRequestError(_first(wrong)) from None
        if not asked.prompt.strip():
            raise BadRequestError("the prompt is empty; say what you want answered")
        asked.limits(Limits())
        script_of(asked.model)
        together(asked.images, asked.files)
        return asked

    def limits(self, inherited: Limits) -> Limits:
        given = {option: getattr(self, option) for option in LIMITS}
        named = {LIMITS[option]: value for option, value in given.items() if value is not None}
        try:
            return Limits.model_validate(inherited.model_dump() | named)
        except ValidationError as wrong:
            problem = wrong.errors(include_url=False)[0]
            option = next(option for option in LIMITS if LIMITS[option] == problem["loc"][0])
            raise BadRequestError(f"{OPTIONS[option]}: {problem['msg']}") from None

    def spec(self) -> ConversationSpec:
        handed, name = together(self.images, self.files), new_id()
        return ConversationSpec(
            id=name,
            model=self.model,
            script=script_for(name, self.model),
            opening=self._opening(handed),
            files=handed.all,
            tools=(*all_definitions(), *map(definition, self._further_tools)),
            subagents=self.subagents,
            planning=self.planning,
            rules=tuple(map(read_rule, self.rules)),
            skills=self.skills or None,
            limits=self.limits(Limits()),
            answer_schema=self.answer_schema,
            record=self.record,
            idempotency_key=self.idempotency_key or "",
            tenant=self.tenant or DEFAULT_TENANT,
            priority=self.priority or DEFAULT_PRIORITY,
        )

    def _opening(self, handed: Together) -> tuple[Message, ...]:
        if self.planning:  # what it is told besides depends on what was tried
            own = [Message(role="system", content=self.system)] if self.system else []
            return (*own, prompted(self.prompt, handed.new, handed.shown))
        return opening(
            self.prompt, self.system, handed.new, handed.shown, may_ask=self.ask_user, subagents=self.subagents
        )

    def onto(self, child: ConversationSpec) -> ConversationSpec:
        """The spec of a conversation that goes on from another one, with what is asked for anew."""
        if self.system is not None or self.skills is not None or self.ask_user or self.subagents:
            raise BadRequestError(
                "--system, --skill, --ask-user and --subagents stay as they are in the conversation that is continued"
            )
        own: dict[str, Any] = {
            "limits": self.limits(child.limits),
            "record": self.record,
            "idempotency_key": self.idempotency_key or "",
            "rules": (*child.rules, *map(read_rule, self.rules)),
        }
        own |= {name: value for name in ("tenant", "priority") if (value := getattr(self, name)) is not None}
        if self.answer_schema is not None:
            own["answer_schema"] = self.answer_schema
        if self.model:
            said = sum(message.role == "assistant" for message in child.opening)
            own |= {"model": self.model, "script": script_for(child.id, self.model), "script_start": said}
        if self.images or self.files:
            handed = together(self.images, self.files, child.files)
            message = prompted(self.prompt, handed.new, handed.shown)
            own |= {"opening": (*child.opening[:-1], message), "files": handed.all}
        return child.model_copy(update=own)


def new_id() -> str:
    """Sortable by time, unique without asking anybody."""
    return f"{int(time.time() * 1000):012x}{secrets.token_hex(4)}"


def child_of(found: ConversationSpec | Problem) -> ConversationSpec:
    """
    Raises:
        BadRequestError: the conversation can't be gone on from.
    """
    if isinstance(found, Problem):
        raise BadRequestError(f"{found.message} {found.fix}")
    return found


def _first(wrong: ValidationError) -> str:
    problem = wrong.errors(include_url=False)[0]
    place = str(problem["loc"][0]) if problem["loc"] else "a field's name"
    ours = problem["msg"].removeprefix("Value error, ")
    return f"{NAMES.get(place, place)}{' ' if ours != problem['msg'] else ': '}{ours}"


def only_options(given: Mapping[str, Any], known: type) -> None:
    """`known`: the TypedDict of a call's options.

    Raises:
        BadRequestError: the call takes no such option.
    """
    if others := sorted(given.keys() - known.__annotations__.keys()):
        raise BadRequestError(f"{others[0]}: there is no such option; there are {', '.join(known.__annotations__)}")
