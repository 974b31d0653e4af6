"""What a recorded conversation's model was asked in a turn, and where a replay's requests are no longer so."""

from collections.abc import Iterable

from pydantic import Field

from .limits import ConversationModel, Divergence, Usage

MAX_DIVERGENCES = 50
"""That are kept of one conversation; those that come first tell most."""


class Asked(ConversationModel):
    """`turn`: counted from 1. `model`: the one that was asked, empty: the orchestrator's default. `system`: the
    system prompt, with the skills that there were. `tools`: of each tool that was offered, a digest of its
    definition. `messages`: with how many of the transcript it was asked; its reply is the next one. `usage`: the
    reply's."""

    turn: int
    model: str = ""
    system: str | None = None
    tools: dict[str, str] = Field(default_factory=dict)
    messages: int
    usage: Usage = Usage()


def with_divergences(known: tuple[Divergence, ...], more: Iterable[Divergence]) -> tuple[Divergence, ...]:
    """A prompt or a tool that differs does so in every turn: it is told once."""
    kept = list(known)
    told = {one.model_copy(update={"turn": 0}).model_dump_json() for one in known}
    for one in more:
        same = one.model_copy(update={"turn": 0}).model_dump_json()
        if same not in told and len(kept) < MAX_DIVERGENCES:
            told.add(same)
            kept.append(one)
    return tuple(kept)
