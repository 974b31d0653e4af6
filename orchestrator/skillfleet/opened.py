"""An open fleet, as the parts of the public API share it."""

from collections.abc import Callable

from .conversations.ledger import DeadCall
from .conversations.models import Conversation
from .errors import BadRequestError, UnknownConversationError
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

    def _dead(self, call_id: str) -> DeadCall:
        call = self._access.ledger.find_dead(call_id)
        if call is None:
            raise BadRequestError(f"no dead call {call_id!r}; see `skillfleet dead list`")
        return call
