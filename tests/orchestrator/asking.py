"""Asking a model server through openai_model, the real SDK and real HTTP."""

from typing import Any

from pydantic import SecretStr
from tests.model_answers import MODEL, Answer, Answers
from tests.model_server import KEY, ModelServer

from skillfleet.conversations.limits import Problem
from skillfleet.conversations.messages import (
    FunctionDefinition,
    Message,
    ToolDefinition,
)
from skillfleet.llm.base import ModelReply, ModelRequest
from skillfleet.llm.openai import openai_model
from skillfleet.llm.prompts import opening
from skillfleet.llm.provider import ProviderModel

ASKED = opening("What is 6 * 7?")
TOOLS = (
    ToolDefinition(
        function=FunctionDefinition(
            name="run_python_script",
            description="Run Python code.",
            parameters={"type": "object", "properties": {"script": {"type": "string"}}},
        )
    ),
)


def model_of(server: ModelServer, **options: Any) -> ProviderModel:
    given: dict[str, Any] = {"backoff_s": 0.001, **options}
    return openai_model(SecretStr(given.pop("key", KEY)), server.base_url, MODEL, **given)


def answered(
    answers: Answers, *, messages: tuple[Message, ...] = ASKED, timeout_s: float = 30, **options: Any
) -> tuple[ModelReply | Problem, ModelServer]:
    with ModelServer(answers) as server:
        return model_of(server, **options).reply(ModelRequest(messages, TOOLS, timeout_s)), server


def reply_to(answer: Answer, **options: Any) -> ModelReply:
    outcome, _ = answered([answer], **options)
    assert isinstance(outcome, ModelReply), outcome
    return outcome


def problem_of(*answers: Answer, **options: Any) -> Problem:
    outcome, server = answered(answers, **options)
    assert isinstance(outcome, Problem), outcome
    assert len(server.received) == len(answers), "each answer is asked for once"
    assert outcome.fix
    return outcome
