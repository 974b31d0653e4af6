"""What a caller of the fleet can't expect; each message is one line that says what to do."""


class FleetError(Exception):
    """Base of the errors that the fleet raises, but for SettingsError."""


class NoBrokerError(FleetError):
    """Redis cannot be reached, or cannot be started."""


class NoFleetError(FleetError):
    """Redis is there, but no orchestrator lives on it."""


class HistoryError(FleetError):
    """The history's database cannot be reached."""


class UnknownConversationError(FleetError):
    """No conversation has this id: it never had, or its record has expired."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(f"no conversation {conversation_id!r}; see `skillfleet list`")


class BadRequestError(FleetError):
    """What was asked cannot be submitted."""
