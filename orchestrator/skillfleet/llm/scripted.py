"""A model that plays written replies, for demos, tests and benches: deterministic, without a network."""

import json
import re
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator, model_validator

from ..conversations.limits import Problem
from ..conversations.messages import FunctionCall, Message, ToolCall
from .base import Hear, ModelReply, ModelRequest, Piece, deaf
from .failures import timed_out
from .pieces import pieces_of
from .rendering import UnresolvedReference, render
from .written import read_written

MAX_DELAY_S = 3600
QUOTATION = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_-]*)(?:\.[^{}$]*)?\}")


class ScriptModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScriptedCall(ScriptModel):
    """`arguments` as a string is sent as it is, so that malformed JSON can be sent; `alias` names the result
    for later texts."""

    tool: str
    arguments: dict[str, JsonValue] | str = Field(default_factory=dict)
    alias: str | None = Field(default=None, alias="as", pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")

    @field_validator("arguments", mode="before")
    @classmethod
    def _map_or_text(cls, written: object) -> object:
        if not isinstance(written, dict | str):
            raise ValueError("needs a map, or the text to send as it is")
        return written

    def arguments_text(self, results: Mapping[str, str]) -> str:
        """A value that is nothing but one quotation stands for what it quotes.

        Raises:
            UnresolvedReference: it quotes what is not there.
        """
        written = self.arguments
        return written if isinstance(written, str) else json.dumps(_quoted(written, results), ensure_ascii=False)


def _quoted(value: JsonValue, results: Mapping[str, str]) -> JsonValue:
    """Code has such texts too: only those are quotations that begin with the name of a call that has come back."""
    if isinstance(value, dict):
        return {name: _quoted(one, results) for name, one in value.items()}
    if isinstance(value, list):
        return [_quoted(one, results) for one in value]
    quotation = QUOTATION.fullmatch(value) if isinstance(value, str) else None
    return render(quotation[0], results) if quotation and quotation[1] in results else value


class ScriptedReply(ScriptModel):
    """`stream`: it is told while it comes, word by word, over `delay_s`."""

    text: str | None = None
    calls: tuple[ScriptedCall, ...] = ()
    delay_s: float = Field(default=0.0, ge=0, le=MAX_DELAY_S)
    stream: bool = False

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.text and not self.calls:
            raise ValueError("needs text or calls")
        return self


class Script(ScriptModel):
    """`children`: the replies of the child conversations that are begun: by a skill with `context: fork`, by the
    skill's name; by spawn_subagent, by the subagent's."""

    replies: tuple[ScriptedReply, ...] = ()
    children: dict[str, tuple[ScriptedReply, ...]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        for replies in (self.replies, *self.children.values()):
            names = [call.alias for reply in replies for call in reply.calls if call.alias]
            repeated = next((name for name in names if names.count(name) > 1), None)
            if repeated:
                raise ValueError(f"two calls are named {repeated!r} by `as`; give each its own name")
        return self


class WrittenScript(Script):
    """As people write it: only a child may be left without replies."""

    replies: tuple[ScriptedReply, ...] = Field(min_length=1)
    children: dict[str, Annotated[tuple[ScriptedReply, ...], Field(min_length=1)]] = Field(default_factory=dict)


def load_script(path: Path) -> dict[str, Any]:
    """A script file (YAML or JSON), checked, as plain JSON values.

    Raises:
        ValueError: one line: the file, the place in it, what is wrong.
    """
    try:
        script = WrittenScript.model_validate(read_written(path))
    except ValidationError as wrong:
        raise ValueError(f"{path}: {_script_problem(wrong)}") from None
    return script.model_dump(mode="json", by_alias=True, exclude_defaults=True)


class ScriptedModel:
    """A LanguageModel without state: which reply comes next is counted in the transcript, and what it quotes
    of tool results is read there. `start`: how many assistant messages stand before its first reply. It costs no
    tokens and says so."""

    def __init__(self, replies: Sequence[ScriptedReply], start: int = 0) -> None:
        self._replies, self._start = tuple(replies), start

    @classmethod
    def of(cls, script: dict[str, Any], start: int = 0) -> Self:
        """From what `load_script` gave, perhaps in another process."""
        return cls(Script.model_validate(script).replies, start)

    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply | Problem:
        messages, timeout_s = request.messages, request.timeout_s
        turn = sum(message.role == "assistant" for message in messages)
        place = turn - self._start
        if not self._replies:
            message = "the script has no replies for this child conversation"
            fix = "Add `children:` to the script, with a list of replies by the skill's name, or the subagent's."
            return Problem(code="script_without_child", message=message, fix=fix)
        if place >= len(self._replies):
            message = f"the script has {len(self._replies)} replies and the conversation asked for one more"
            fix = "End the script with a text and no calls."
            return Problem(code="script_exhausted", message=message, fix=fix)
        written = self._replies[place]
        if written.delay_s > timeout_s:
            time.sleep(max(timeout_s, 0.0))
            return timed_out(timeout_s).problem
        try:
            said = self._message(written, turn, messages)
        except UnresolvedReference as wrong:
            fix = "Quote only what the script's calls bring: run them and look."
            return Problem(code="script_reference", message=f"replies[{place}] quotes {wrong}", fix=fix)
        _tell(pieces_of(said) if written.stream else (), written.delay_s, hear)
        return ModelReply(said)

    def _message(self, written: ScriptedReply, turn: int, messages: tuple[Message, ...]) -> Message:
        results = self._results(messages)
        text = render(written.text, results) if written.text else None
        calls = tuple(_tool_call(call, turn, index, results) for index, call in enumerate(written.calls))
        return Message(role="assistant", content=text, tool_calls=calls or None)

    def _results(self, messages: tuple[Message, ...]) -> dict[str, str]:
        """What the transcript shows of each named call that has come back."""
        shown = {answer.tool_call_id: answer.content or "" for answer in messages if answer.role == "tool"}
        names = {
            _call_id(turn, index): call.alias
            for turn, reply in enumerate(self._replies, start=self._start)
            for index, call in enumerate(reply.calls)
        }
        return {name: shown[call_id] for call_id, name in names.items() if name and call_id in shown}


def _tell(pieces: Sequence[Piece], delay_s: float, hear: Hear) -> None:
    """The reply is there with its last piece, and not before its time."""
    for piece in pieces:
        time.sleep(delay_s / len(pieces))
        hear(piece)
    if not pieces:
        time.sleep(delay_s)


def _call_id(turn: int, index: int) -> str:
    return f"call_{turn}_{index}"


def _tool_call(call: ScriptedCall, turn: int, index: int, results: Mapping[str, str]) -> ToolCall:
    function = FunctionCall(name=call.tool, arguments=call.arguments_text(results))
    return ToolCall(id=_call_id(turn, index), function=function)


def _script_problem(wrong: ValidationError) -> str:
    first = wrong.errors(include_url=False)[0]
    place = ""
    for step in first["loc"]:
        place += f"[{step}]" if isinstance(step, int) else f".{step}"
    where, message = place.lstrip(".") or "the file", first["msg"].removeprefix("Value error, ")
    return f"{where}: {message}; a script is `replies:`, a list with `text` or `calls`"
