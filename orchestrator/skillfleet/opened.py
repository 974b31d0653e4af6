"""An open fleet, as the parts of the public API share it."""

from collections.abc import Callable

from .conversations.ledger import DeadCall
from .conversations.models import Conversation
from .errors import BadRequestError, UnknownConversationError
from .events import Entry
from .local.access import Access
from .settings import OrchestratorSettings


class Opened:
    settings: OrchestratorSettings
    _access: Access
    _notice: Callable[[str], None]

    def _load(self, conversation_id: str) -> Conversation:
        conversation = self._access.ledger.load(conversation_id)
        if conversation is None:
            raise UnknownConversationError(conversation_id)
        return conversation

    def _all_entries(self, conversation_id: str) -> list[Entry]:
        """What has happened by now."""
        entries: list[Entry] = []
        while page := self._access.ledger.entries(conversation_id, entries[-1].cursor if entries else "0", 0):
            entries += page
        return entries

    def _dead(self, call_id: str) -> DeadCall:
        call = self._access.ledger.find_dead(call_id)
        if call is None:
            raise BadRequestError(f"no dead call {call_id!r}; see `skillfleet dead list`")
        return call
