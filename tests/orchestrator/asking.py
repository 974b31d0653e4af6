"""Asking a model server through OpenAIModel, the real SDK and real HTTP."""

from typing import Any

from pydantic import SecretStr
from tests.model_answers import MODEL, Answer, Answers
from tests.model_server import KEY, ModelServer

from skillfleet.conversations.messages import (
    FunctionDefinition,
    Message,
    ToolDefinition,
)
from skillfleet.conversations.models import Problem
from skillfleet.llm.base import ModelReply
from skillfleet.llm.openai import OpenAIModel
from skillfleet.llm.prompts import opening

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


def model_of(server: ModelServer, **options: Any) -> OpenAIModel:
    given: dict[str, Any] = {"backoff_s": 0.001, **options}
    return OpenAIModel(SecretStr(given.pop("key", KEY)), server.base_url, MODEL, **given)


def answered(
    answers: Answers, *, messages: tuple[Message, ...] = ASKED, timeout_s: float = 30, **options: Any
) -> tuple[ModelReply | Problem, ModelServer]:
    with ModelServer(answers) as server:
        return model_of(server, **options).reply(messages, TOOLS, timeout_s=timeout_s), server


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
