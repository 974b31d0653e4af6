"""Every redis key of the ledger, written once. `docs/keys.md` lists type and expiry of each."""

from dataclasses import dataclass

from .contract import DEFAULT_TENANT

PREFIX = "skillfleet"


def state(conversation_id: str) -> str:
    """Hash: spec, state, status, fence, held (the fence of the last claim: where it is the newest, somebody holds
    it), out, children, awaits (those of them that calls wait for), leaving (those that were told to end), asking,
    listening, posting, parent, root, outcome, cancel, pause, paused_with (it is because its parent is), paused,
    idempotency, deadline, own (from acceptance to the deadline, but for pauses), seq, created, commit, dropped, news,
    blobs, tenant, priority, routed (a call of it has had a route); where it is due, which bell it rings, which
    control channel its workers hear, and which queue its calls are sent to (QueueKeys.base)."""
    return f"{PREFIX}:{{{conversation_id}}}:state"


def events(conversation_id: str) -> str:
    """Stream, append-only: the truth of a conversation, messages included."""
    return f"{PREFIX}:{{{conversation_id}}}:events"


def live(conversation_id: str) -> str:
    """Stream, bounded: what is worth seeing while it happens (progress, output, tokens); may be lost without harm."""
    return f"{PREFIX}:{{{conversation_id}}}:live"


def calls(conversation_id: str) -> str:
    """Hash, for every call that was sent: `KEY:attempt`, `:beat` (ms since the epoch), `:worker`, `:claim`,
    `:sent` (when it got its place in the tool queue), `:effects`, `:failed`, `:failures`, `:returned`, `:lost`,
    `:said`, `:route` (where it is not ''), `:result` (JSON of a CallResult), `:begun` (the id of the child that works
    on it), `:child` (JSON of a CallResult: what it has come to by the child's end), `:decision` (JSON of what a
    person has said of it), `:posted` (JSON of a Delivered), where KEY is CallRef.key."""
    return f"{PREFIX}:{{{conversation_id}}}:calls"


CALL_FIELDS = (
    "attempt beat worker effects failed failures returned lost said sent route result begun child decision posted"
)
"""What is read of a call, of all that its hash holds."""


def end(conversation_id: str) -> str:
    """Stream of one entry, written with the terminal status: who only waits for the end reads this."""
    return f"{PREFIX}:{{{conversation_id}}}:end"


def mailbox(conversation_id: str) -> str:
    """Stream: messages that wait for a conversation, `message` the JSON of an AgentMessage, `expires` (ms since the
    epoch); what was read is deleted."""
    return f"{PREFIX}:{{{conversation_id}}}:mailbox"


def posted(conversation_id: str, message_id: str) -> str:
    """String, of the tree under its root: what became of the message (JSON of a Delivered)."""
    return f"{PREFIX}:{{{conversation_id}}}:posted:{message_id}"


def topics(conversation_id: str) -> str:
    """Hash, of the tree under its root: `CONVERSATION PATTERN` to when it subscribed (ms since the epoch)."""
    return f"{PREFIX}:{{{conversation_id}}}:topics"


def requests(conversation_id: str) -> str:
    """Hash: `REQUESTER CORRELATION_ID` of a request that waits for the answer of this conversation, to when it
    expires (ms since the epoch)."""
    return f"{PREFIX}:{{{conversation_id}}}:requests"


def blob(conversation_id: str, digest: str) -> str:
    """String: JSON of one argument of a call that was too big for its message."""
    return f"{PREFIX}:{{{conversation_id}}}:blob:{digest}"


def kept(conversation_id: str) -> str:
    """Hash: of the attempts at the calls of a plan, by CallRef.task_id: JSON of a KeptRun."""
    return f"{PREFIX}:{{{conversation_id}}}:kept"


def snapshot(snapshot_id: str) -> str:
    """String: JSON of a Snapshot of skills, under its hash."""
    return f"{PREFIX}:snapshot:{snapshot_id}"


LIVE_ENTRIES = 1000
LIVE_WORDS = 4000
LIVE_S = 600
LIVE_ENDED_S = 60
"""A live stream holds about so many entries, or so many while a model speaks (a reply of 4 000 tokens whole, however
slowly it comes; an entry takes 120 bytes), and outlives the last one for so long, seconds, but its conversation's end
no longer than the latter."""

MESSAGES_KEPT = 10_000
"""About so many entries has the stream of a fleet's messages."""

POSTED_S = 3600
"""For so long what became of a message is known, seconds: whoever sends it again after a failure does so sooner."""

LONGEST_SLEEP_MS = 1000
"""Orchestrators look at what is due at least so often, whatever they hear."""

READY, HELD, WAITING, SENT, MARK, ROUTES = ":ready", ":held:", ":waiting", ":sent", ":mark", ":routes"
"""What the scripts append to the name of a due set (the first two) and of a tool queue."""

INDEX = f"{PREFIX}:conversations"
"""Sorted set: conversation id by time of submission."""

DEAD = f"{PREFIX}:dead"
"""Sorted set: call id (CallRef.call_id) of a call that was given up because it was lost while it ran, by when."""


@dataclass(frozen=True, slots=True)
class FleetKeys:
    fleet: str

    @property
    def due(self) -> str:
        """Sorted set: conversation id by when it must be looked at next (ms since the epoch)."""
        return f"{PREFIX}:due:{self.fleet}"

    @property
    def ready(self) -> str:
        """Fair queue of the open conversations that are due now: a sorted set of the tenants that have any, by turn;
        and for each `:TENANT`, a sorted set of conversation ids by rank. The tenant '': only to be ended."""
        return self.due + READY

    def held(self, tenant: str) -> str:
        """Sorted set: ids of a tenant's conversations that orchestrators hold, by the end of their lease; kept where
        there is a bound to how many."""
        return self.due + HELD + tenant

    @property
    def bell(self) -> str:
        """List: the doorbell; may be lost without harm."""
        return f"{PREFIX}:bell:{self.fleet}"

    @property
    def control(self) -> str:
        """Channel (publish and subscribe): the id of a conversation whose running calls are no longer wanted."""
        return f"{PREFIX}:control:{self.fleet}"

    @property
    def messages(self) -> str:
        """Stream, bounded: every message that was delivered; for people to watch."""
        return f"{PREFIX}:messages:{self.fleet}"

    @property
    def unarchived(self) -> str:
        """Sorted set: conversation id by when an archiver is to look at it next (ms since the epoch; before it has:
        when it was accepted), until all of it is archived."""
        return f"{PREFIX}:unarchived:{self.fleet}"

    @property
    def unarchivable(self) -> str:
        """Hash: of those of them that could not be archived when they were looked at last, since when and why."""
        return f"{PREFIX}:unarchivable:{self.fleet}"

    def idempotency(self, tenant: str, key: str) -> str:
        """String: the id of the tenant's conversation that was submitted with this key. No fleet and no tenant has a
        colon in its name, but a key may."""
        if tenant == DEFAULT_TENANT:
            return f"{PREFIX}:idempotency:{self.fleet}:{key}"
        return f"{PREFIX}:tenant-idempotency:{self.fleet}:{tenant}:{key}"

    @property
    def live(self) -> str:
        """Sorted set: `role:name` of orchestrators and workers by when they last said that they live."""
        return f"{PREFIX}:live:{self.fleet}"

    @property
    def about(self) -> str:
        """Hash: `role:name` to the JSON of a LiveProcess."""
        return f"{PREFIX}:live:{self.fleet}:about"


def task_queue(fleet: str) -> str:
    """The Celery queue of a fleet's tool calls, a list in the broker's database."""
    return f"skills.{fleet}"


def route_queue(queue: str, route: str) -> str:
    """The Celery queue of those calls of a fleet that only some of its workers can run; '': all of them can."""
    return f"{queue}.{route}" if route else queue


def route_of(queue: str, name: str) -> str:
    """The route whose Celery queue has this name; '' for the fleet's own."""
    return name.removeprefix(queue).removeprefix(".") if name.startswith(f"{queue}.") else ""


@dataclass(frozen=True, slots=True)
class QueueKeys:
    """Of the calls that are sent by way of one Celery queue."""

    queue: str

    @property
    def base(self) -> str:
        return f"{PREFIX}:calls:{self.queue}"

    @property
    def waiting(self) -> str:
        """Fair queue of the calls that are to be sent, by their ids, in the form of `FleetKeys.ready`."""
        return self.base + WAITING

    @property
    def sent(self) -> str:
        """Sorted set: ids of calls that have a place in the Celery queue and that no worker has started, by when they
        got it (ms since the epoch)."""
        return self.base + SENT

    @property
    def mark(self) -> str:
        """String: of the calls that workers have started while others wait, when the last got its place."""
        return self.base + MARK

    @property
    def routes(self) -> str:
        """Set, of a fleet's queue: the routes for which calls wait."""
        return self.base + ROUTES
