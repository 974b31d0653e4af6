"""The tools that read the conversation itself, and so are no tasks. As in the contract, docstrings and fields
are what the model is told."""

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field

from skillfleet_workers.wire.contract import OFFSET, WireModel

from ..subagents.mailbox import DEFAULT_PRIORITY, DEFAULT_TTL_S, MAX_TTL_S
from ..subagents.models import MAX_NAME_CHARS, PLAN_TOOL, SPAWN_SUBAGENT


class ReadOutput(WireModel):
    """Read what an earlier tool call brought, where it is no longer shown in full."""

    call: str = Field(description="The call, as the pointer names it (e.g. '3.0')")
    offset: int = OFFSET


class AskUser(WireModel):
    """Ask the person who gave the task one question, and wait for the answer. Only for what you cannot find out
    yourself and cannot do without."""

    question: str = Field(min_length=1, description="The question, with all that is needed to answer it")


class SpawnSubagent(WireModel):
    """Start a subagent that works on a part of the task by itself: either a prompt, for a model of its own with the
    skills that you name, or a skill with its parameters, which then runs without a model. Several that are started
    in one turn work side by side. With wait (the default) the call comes back with what it has answered; without, at
    once with its agent_id, and await_subagents brings the answer."""

    prompt: str = Field(default="", max_length=100_000, description="The whole task: it sees nothing else")
    skill: str = Field(default="", description="In place of a prompt: the skill that it runs")
    params: dict[str, Any] | None = Field(default=None, description="The skill's parameters")
    skills: tuple[str, ...] | None = Field(default=None, description="The only skills it may use")
    name: str = Field(default="", max_length=MAX_NAME_CHARS, description="What to call it")
    wait: bool = Field(default=True, description="Whether to wait for its answer")
    metadata: dict[str, Any] | None = Field(default=None, description="Notes of your own about it")


AGENT_ID = Field(description="The agent_id that spawn_subagent gave, or that list_subagents shows")
WAIT_S = Field(default=None, ge=0, le=3600, description="Seconds to wait at most; leave out for as long as it takes")


class AwaitSubagents(WireModel):
    """Wait until subagents have ended, and get what they have answered."""

    agent_ids: tuple[str, ...] | None = Field(default=None, description="Leave out for all that were started")
    timeout: int | None = WAIT_S


class ListSubagents(WireModel):
    """List the subagents that you have started, and the state of each."""


class CancelSubagent(WireModel):
    """End a subagent whose work is no longer wanted, with all that it has started itself."""

    agent_id: str = AGENT_ID


class ExecutePlan(WireModel):
    """Execute a plan: several scripts of skills at once, each after those that it depends on, those side by side that
    may be, with retries. It comes back when the plan has ended, with what each tool has brought. Use it where you
    know beforehand which scripts to run, and how their results go into one another."""

    plan: Any = Field(description="The plan")
    timeout: int | None = Field(default=None, ge=1, le=86_400, description="Seconds for all of it; 60 if left out")
    tool_timeout: int | None = Field(default=None, ge=1, le=3600, description="Seconds for each tool; 30 if left out")


TTL = Field(default=DEFAULT_TTL_S, ge=1, le=MAX_TTL_S, description="Seconds after which nobody is given it any more")
PRIORITY = Field(default=DEFAULT_PRIORITY, ge=1, le=10, description="1 comes first")


class SendMessage(WireModel):
    """Send a message to another agent of this task. The answer to a request comes with receive_messages, under the
    correlation_id that this call gives back; who answers one passes it on."""

    recipient_id: str = Field(description="Its agent_id, or 'parent'")
    payload: dict[str, Any] = Field(description="What it is told")
    message_type: Literal["event", "request", "response", "error"] = Field(
        default="event", description="A request wants a response; an error tells that something went wrong"
    )
    correlation_id: str | None = Field(default=None, description="Of the request that this answers")
    ttl: int = TTL
    priority: int = PRIORITY


class Publish(WireModel):
    """Tell all agents of this task that have subscribed to the topic."""

    topic: str = Field(description="Words with dots between them (e.g. 'navigation.complete')")
    payload: dict[str, Any] = Field(description="What they are told")
    ttl: int = TTL
    priority: int = PRIORITY


class SubscribeTopic(WireModel):
    """From now on get what is published under a topic."""

    topic: str = Field(description="A topic, or a pattern (e.g. 'navigation.*')")


class ReceiveMessages(WireModel):
    """Get the messages that have come for you, each once, the most urgent first; wait for one where there is none."""

    timeout: int = Field(default=30, ge=0, le=3600, description="Seconds to wait at most")
    topic: str | None = Field(default=None, description="Only those of this topic, or pattern")
    correlation_id: str | None = Field(default=None, description="Only the answer to this request")
    limit: int = Field(default=10, ge=1, le=100, description="Messages at most")


@dataclass(frozen=True, slots=True)
class OwnTool:
    tool: str
    request: type[WireModel]


READ_OUTPUT = OwnTool("read_output", ReadOutput)
ASK_USER = OwnTool("ask_user", AskUser)
SPAWN = OwnTool(SPAWN_SUBAGENT, SpawnSubagent)
AWAIT = OwnTool("await_subagents", AwaitSubagents)
LIST_SUBAGENTS = OwnTool("list_subagents", ListSubagents)
CANCEL_SUBAGENT = OwnTool("cancel_subagent", CancelSubagent)
EXECUTE_PLAN = OwnTool(PLAN_TOOL, ExecutePlan)
SEND_MESSAGE = OwnTool("send_message", SendMessage)
PUBLISH = OwnTool("publish", Publish)
SUBSCRIBE = OwnTool("subscribe", SubscribeTopic)
RECEIVE = OwnTool("receive_messages", ReceiveMessages)

SPAWNING = (SPAWN, AWAIT, LIST_SUBAGENTS, CANCEL_SUBAGENT)
BEGINNING = (SPAWN, EXECUTE_PLAN)
"""They begin a child conversation, which no skill of its parent's governs."""

READING = (READ_OUTPUT, LIST_SUBAGENTS)
"""What they bring is found when the model has called them, and they wait for nothing."""

WAITING = (AWAIT, RECEIVE)
"""To wait once more is no repetition: what was not there may be by then."""

MESSAGING = (SEND_MESSAGE, PUBLISH, SUBSCRIBE, RECEIVE)
OWN_TOOLS = {own.tool: own for own in (READ_OUTPUT, ASK_USER, *SPAWNING, EXECUTE_PLAN, *MESSAGING)}
