"""Calls that send messages, subscribe to topics, or wait for messages (pure)."""

from .ending import Moved
from .models import Conversation
from .moves import MailCame, Unposted, WaitOver
from .runs import ToolRun


def begin_mail(conversation: Conversation, run: ToolRun, now: float) -> Moved:
    raise NotImplementedError


def mail_told(conversation: Conversation, run: ToolRun, event: MailCame | WaitOver | Unposted, now: float) -> Moved:
    raise NotImplementedError
