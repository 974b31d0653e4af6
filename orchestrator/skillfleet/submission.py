"""What a caller asks for: checked, and made into the spec of a conversation."""

import re
import secrets
import time
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from skillfleet_workers.wire.contract import DEFAULT_PRIORITY, DEFAULT_TENANT

from .conversations.limits import Limits, Problem
from .conversations.models import ConversationSpec
from .errors import BadRequestError
from .llm.prompts import opening
from .llm.scripted import load_script
from .settings import SCRIPTED
from .tools.definitions import all_definitions, definition
from .tools.own import ASK_USER
from .tools.permission import read_rule

MAX_KEY_CHARS = 200
TENANT = re.compile(r"[A-Za-z0-9_.-]{1,64}")
OPTIONS = {
    "timeout": "--timeout",
    "max_turns": "--max-turns",
    "idempotency_key": "--idempotency-key",
    "tenant": "--tenant",
    "priority": "--priority",
    "person_timeout": "--person-timeout",
}
NAMES = OPTIONS | {"prompt": "the prompt", "system": "the system prompt", "rules": "the rule"}


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
    orchestrator's own. `timeout`: seconds of wall time. `tenant`: for whom; tenants share the fleet alike. `priority`
    among the tenant's own: 1, which comes first, to 10. `rules`: what a person is asked about, each as
    VERDICT:TOOL[@SKILL]; the last that fits a call decides. `ask_user`: the model may ask questions.
    `person_timeout`: seconds for which it waits for a person at most."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    prompt: Text
    model: Text = ""
    system: Text | None = None
    skills: Annotated[tuple[Text, ...], Field(strict=False)] | None = None
    timeout: float | None = None
    max_turns: int | None = None
    idempotency_key: Annotated[str, BeforeValidator(_key)] | None = None
    tenant: Annotated[str, BeforeValidator(_tenant)] | None = None
    priority: Annotated[int, Field(ge=1, le=10)] | None = None
    rules: Annotated[tuple[RuleText, ...], Field(strict=False)] = ()
    ask_user: bool = False
    person_timeout: float | None = None

    @classmethod
    def of(cls, given: dict[str, Any]) -> Self:
        """
        Raises:
            BadRequestError: one line: what is wrong, and where.
        """
        try:
            asked = cls.model_validate(given)
        except ValidationError as wrong:
            raise BadRequestError(_first(wrong)) from None
        if not asked.prompt.strip():
            raise BadRequestError("the prompt is empty; say what you want answered")
        asked.limits(Limits())
        _script(asked.model)
        return asked

    def limits(self, inherited: Limits) -> Limits:
        given = {"timeout_s": self.timeout, "max_turns": self.max_turns, "wait_s": self.person_timeout}
        named = {name: value for name, value in given.items() if value is not None}
        try:
            return Limits.model_validate(inherited.model_dump() | named)
        except ValidationError as wrong:
            problem = wrong.errors(include_url=False)[0]
            option = {"timeout_s": "timeout", "max_turns": "max_turns", "wait_s": "person_timeout"}[
                str(problem["loc"][0])
            ]
            raise BadRequestError(f"{OPTIONS[option]}: {problem['msg']}") from None

    def spec(self) -> ConversationSpec:
        return ConversationSpec(
            id=new_id(),
            model=self.model,
            script=_script(self.model),
            opening=opening(self.prompt, self.system, may_ask=self.ask_user),
            tools=(*all_definitions(), definition(ASK_USER)) if self.ask_user else all_definitions(),
            rules=tuple(map(read_rule, self.rules)),
            skills=self.skills or None,
            limits=self.limits(Limits()),
            idempotency_key=self.idempotency_key or "",
            tenant=self.tenant or DEFAULT_TENANT,
            priority=self.priority or DEFAULT_PRIORITY,
        )

    def onto(self, child: ConversationSpec) -> ConversationSpec:
        """The spec of a conversation that goes on from another one, with what is asked for anew."""
        if self.system is not None or self.skills is not None or self.ask_user:
            raise BadRequestError(
                "--system, --skill and --ask-user stay as they are in the conversation that is continued"
            )
        own: dict[str, Any] = {
            "limits": self.limits(child.limits),
            "idempotency_key": self.idempotency_key or "",
            "rules": (*child.rules, *map(read_rule, self.rules)),
        }
        own |= {name: value for name in ("tenant", "priority") if (value := getattr(self, name)) is not None}
        if self.model:
            said = sum(message.role == "assistant" for message in child.opening)
            own |= {"model": self.model, "script": _script(self.model), "script_start": said}
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


def _script(model: str) -> dict[str, Any] | None:
    if not model.startswith(SCRIPTED):
        return None
    path = Path(model.removeprefix(SCRIPTED))
    try:
        return _loaded(path, path.stat().st_mtime_ns if path.exists() else None)
    except ValueError as wrong:
        raise BadRequestError(f"--model: {wrong}") from None


@lru_cache(maxsize=16)
def _loaded(path: Path, changed_ns: int | None) -> dict[str, Any]:
    """A batch names one script thousands of times."""
    return load_script(path)


def _first(wrong: ValidationError) -> str:
    problem = wrong.errors(include_url=False)[0]
    place = str(problem["loc"][0]) if problem["loc"] else "a field's name"
    ours = problem["msg"].removeprefix("Value error, ")
    return f"{NAMES.get(place, place)}{' ' if ours != problem['msg'] else ': '}{ours}"
