"""The adapters to language models, streamed and whole, and which group of cases holds for which of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pytest
from pydantic import SecretStr
from tests.model_answers import MODEL, Answer, Completion
from tests.model_server import KEY, ModelServer, Received
from tests.orchestrator.asking import ASKED, TOOLS

from skillfleet.conversations.limits import Problem
from skillfleet.conversations.messages import Message
from skillfleet.llm.anthropic import anthropic_model
from skillfleet.llm.base import Again, Calling, Hear, LanguageModel, ModelReply, ModelRequest, Piece, Said, deaf
from skillfleet.llm.openai import openai_model
from skillfleet.llm.scripted import ScriptedModel

PROVIDERS = {"openai": openai_model, "anthropic": anthropic_model}
ADAPTERS = (*PROVIDERS, "scripted")
NO_PROVIDER = {"scripted": "it has no provider: nothing is sent, refused, counted or lost on the way"}

NOT_FOR: dict[str, Mapping[str, str]] = {
    "replies": {},
    "ids": {"scripted": "its ids are its own"},
    "requests": NO_PROVIDER,
    "faults": NO_PROVIDER,
}
"""Groups of cases, and for which adapters they do not hold, and why."""


class Standing:
    """One server for all cases, and the adapters that ask it: a client of an SDK is dear to make."""

    def __init__(self) -> None:
        self._answers: list[Answer] = []
        self.server = ModelServer(lambda request: self._answers.pop(0)).__enter__()

    def answers(self, answers: Iterable[Answer]) -> None:
        self._answers[:] = answers
        self.server.received.clear()

    @lru_cache(maxsize=64)  # noqa: B019  it lives as long as the tests
    def model(self, adapter: str, streams: bool, options: frozenset[tuple[str, Any]]) -> LanguageModel:
        given: dict[str, Any] = {"backoff_s": 0.001, **dict(options)}
        return PROVIDERS[adapter](SecretStr(KEY), self.server.base_url, MODEL, streaming=streams, **given)


@lru_cache(maxsize=1)
def standing() -> Standing:
    return Standing()


@dataclass(frozen=True)
class Side:
    """One adapter, in one of its two ways to answer."""

    adapter: str
    streams: bool

    def model(self, answers: Iterable[Answer], start: int, options: dict[str, Any]) -> LanguageModel:
        """`start`: how many assistant messages there are already."""
        if self.adapter == "scripted":
            return ScriptedModel.of({"replies": [self._written(answer) for answer in answers]}, start)
        return standing().model(self.adapter, self.streams, frozenset(options.items()))

    def _written(self, answer: Answer) -> dict[str, Any]:
        assert isinstance(answer, Completion), "a script has no faults"
        calls = [{"tool": name, "arguments": arguments} for _, name, arguments in answer.calls]
        return {"text": answer.text, "calls": calls, "stream": self.streams}


@dataclass
class Outcome:
    answer: ModelReply | Problem
    heard: list[Piece]
    received: list[Received]

    @property
    def reply(self) -> ModelReply:
        assert isinstance(self.answer, ModelReply), self.answer
        return self.answer

    @property
    def problem(self) -> Problem:
        assert isinstance(self.answer, Problem), self.answer
        assert self.answer.fix
        return self.answer

    @property
    def message(self) -> Message:
        return self.reply.message

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [one.body for one in self.received]


@dataclass
class Asking:
    """What the tests of one side ask."""

    side: Side

    def ask(
        self, *answers: Answer, messages: tuple[Message, ...] = ASKED, hear: Hear = deaf, **options: Any
    ) -> Outcome:
        """The model, asked once, where the provider answers so, in this order. `options`: of the request (those that
        it has) and of the adapter."""
        about = {name: options.pop(name) for name in tuple(options) if name in ModelRequest.__dataclass_fields__}
        request = ModelRequest(messages, **{"tools": TOOLS, "timeout_s": 30.0, **about})
        start = sum(message.role == "assistant" for message in messages)
        heard: list[Piece] = []

        def hears(piece: Piece) -> None:
            heard.append(piece)
            hear(piece)

        standing().answers(answers)
        answer = self.side.model(answers, start, options).reply(request, hears)
        outcome = Outcome(answer, heard, list(standing().server.received))
        self._check_heard(outcome)
        return outcome

    def _check_heard(self, outcome: Outcome) -> None:
        """Of what was taken back, nothing is left; what is left is the reply."""
        last = max((place for place, piece in enumerate(outcome.heard) if isinstance(piece, Again)), default=-1)
        left = outcome.heard[last + 1 :]
        if isinstance(outcome.answer, Problem) or not self.side.streams:
            assert not left
            return
        message = outcome.message
        assert "".join(piece.text for piece in left if isinstance(piece, Said)) == (message.content or "")
        calls: dict[int, tuple[str, str]] = {}
        for piece in left:
            if isinstance(piece, Calling):
                calls[piece.index] = piece.name, calls.get(piece.index, ("", ""))[1] + piece.arguments
        told = [(call.function.name, call.function.arguments) for call in message.tool_calls or ()]
        assert [calls[index] for index in sorted(calls)] == told


def applies(group: str, streams: Iterable[bool] = (True, False)) -> pytest.MarkDecorator:
    """Run the cases once for each side that the group is for."""
    chosen = []
    for adapter in ADAPTERS:
        if reason := NOT_FOR[group].get(adapter):
            skip = pytest.mark.skip(reason=f"not for {adapter}: {reason}")
            chosen.append(pytest.param(None, id=adapter, marks=skip))
            continue
        for streamed in streams:
            name = f"{adapter}-{'streamed' if streamed else 'whole'}"
            chosen.append(pytest.param(Asking(Side(adapter, streamed)), id=name))
    return pytest.mark.parametrize("model", chosen)
