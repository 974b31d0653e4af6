"""A model that says again what another one said, and tells where it was asked something else."""

from typing import Any, Self

from ..conversations.limits import Problem
from .base import Hear, ModelReply, ModelRequest, Said, deaf
from .divergence import divergences
from .recording import Recording

NOTHING = Recording(id="")


class ReplayModel:
    """A LanguageModel without state: which reply comes next is counted in the transcript. `start`: how many assistant
    messages stand before its first reply. Its tokens are those of the recording; it costs nothing."""

    def __init__(self, recording: Recording, start: int = 0) -> None:
        self._recording, self._start = recording, start

    @classmethod
    def of(cls, recorded: dict[str, Any], start: int = 0) -> Self:
        """From what `load_recording` gave, perhaps in another process."""
        return cls(Recording.model_validate(recorded) if recorded else NOTHING, start)

    def reply(self, request: ModelRequest, hear: Hear = deaf) -> ModelReply | Problem:
        place = sum(message.role == "assistant" for message in request.messages) - self._start
        message = self._recording.reply(place)
        if message is None:
            return self._exhausted()
        if message.content:
            hear(Said(message.content))
        usage = self._recording.turns[place].usage.model_copy(update={"cost": 0.0})
        return ModelReply(message, usage, divergences(self._recording, place, request))

    def _exhausted(self) -> Problem:
        if self._recording is NOTHING:
            told = "the recording has no child conversation for this call"
        else:
            told = f"the recording has {len(self._recording.turns)} replies and the conversation asked for one more"
        fix = "Look at what diverged before; if that is as you want it, record it again with --record."
        return Problem(code="replay_exhausted", message=told, fix=fix)
