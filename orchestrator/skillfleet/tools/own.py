"""The tools that read the conversation itself, and so are no tasks. As in the contract, docstrings and fields
are what the model is told."""

from dataclasses import dataclass

from pydantic import Field

from skillfleet_workers.wire.contract import OFFSET, WireModel


class ReadOutput(WireModel):
    """Read what an earlier tool call brought, where it is no longer shown in full."""

    call: str = Field(description="The call, as the pointer names it (e.g. '3.0')")
    offset: int = OFFSET


class AskUser(WireModel):
    """Ask the person who gave the task one question, and wait for the answer. Only for what you cannot find out
    yourself and cannot do without."""

    question: str = Field(min_length=1, description="The question, with all that is needed to answer it")


@dataclass(frozen=True, slots=True)
class OwnTool:
    tool: str
    request: type[WireModel]


READ_OUTPUT = OwnTool("read_output", ReadOutput)
ASK_USER = OwnTool("ask_user", AskUser)
OWN_TOOLS = {own.tool: own for own in (READ_OUTPUT, ASK_USER)}
