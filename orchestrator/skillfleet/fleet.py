"""Fleet: the public Python API, the same verbs as the command line."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Self

from skillfleet_workers.wire import keys
from skillfleet_workers.wire.connection import load_settings
from skillfleet_workers.wire.fitness import read_facts
from skillfleet_workers.wire.presence import LiveProcess

from .conversations.dead import DeadReport, dead_report, repeated
from .conversations.descent import continued, forked, retried
from .conversations.ledger import DeadCall
from .conversations.models import Conversation, ConversationSpec
from .conversations.report import Report, report
from .decisions import Decisions
from .errors import BadRequestError, NoFleetError, UnknownConversationError
from .events import Entry, Position
from .local.access import Access
from .outage import Outages
from .settings import OrchestratorSettings
from .submission import Submission, child_of, new_id

FLEET_GONE_S = 30.0
"""A conversation that nobody moves is given up by its followers after this long; it stays in the ledger."""

BATCH_CHUNK = 100
"""Conversations of a batch that are accepted in one round trip."""

log = logging.getLogger(__name__)


class Fleet(Decisions):
    """Use it as a context manager, on the main thread:

        with Fleet() as fleet:
            print(fleet.result(fleet.submit("What is 6 * 7?")).answer)

    With no fleet running and no SKILLFLEET_REDIS_URL, `submit` starts one of its own that ends with the block.

    Raises (every verb): SettingsError, NoBrokerError; UnknownConversationError where an id is given.
    """

    def __init__(
        self, settings: OrchestratorSettings | None = None, *, notice: Callable[[str], None] = log.warning
    ) -> None:
        """`notice`: is told when redis is away, and when it is back."""
        self.settings = settings or load_settings(OrchestratorSettings)
        self._notice = notice
        self._access = Access(self.settings)

    def __enter__(self) -> Self:
        self._access.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._access.close()

    @property
    def lone(self) -> bool:
        """Whether this fleet is our own, and ends with us."""
        return self._access.lone

    def submit(
        self,
        prompt: str,
        *,
        model: str = "",
        system: str | None = None,
        skills: Sequence[str] | None = None,
        timeout: float | None = None,
        max_turns: int | None = None,
        idempotency_key: str | None = None,
        continues: str | None = None,
        tenant: str | None = None,
        priority: int | None = None,
        rules: Sequence[str] = (),
        ask_user: bool = False,
        person_timeout: float | None = None,
        detach: bool = False,
    ) -> str:
        """Queue a conversation; when this returns its id, the conversation is stored.

        `model`: a name of the provider's, or `scripted:FILE`. `timeout`: seconds of wall time. `idempotency_key`:
        the tenant's second submission with the same one gives the id of the first. `continues`: the conversation that
        has ended and whose history, activated skills and limits the new one has. `tenant`: for whom ("default");
        tenants share the fleet alike. `priority` among the tenant's own: 1, which comes first, to 10 (5). `rules`:
        what a person is asked about, each as VERDICT:TOOL[@SKILL] (docs/approvals.md). `ask_user`: the model may ask
        questions. `person_timeout`: seconds for which it waits for a person at most. `detach`: only on a fleet that
        runs already.

        Raises:
            BadRequestError: an empty prompt, a limit out of range, a conversation to continue that has not ended.
            NoFleetError: no fleet is running, and none may be started.
        """
        asked = Submission.of(
            {
                "prompt": prompt, "model": model, "system": system, "skills": tuple(skills) if skills else None,
                "timeout": timeout, "max_turns": max_turns, "idempotency_key": idempotency_key,
                "tenant": tenant, "priority": priority, "rules": tuple(rules), "ask_user": ask_user,
                "person_timeout": person_timeout,
            }
        )  # fmt: skip
        if continues is None:
            return self._accept(asked.spec(), detach)
        child = child_of(continued(self._load(continues), new_id(), prompt))
        return self._accept(asked.onto(child), detach)

    def submit_batch(self, submissions: Iterable[Submission], *, detach: bool = False) -> Iterator[str]:
        """The ids, in order, as they are accepted; see `read_batch`.

        Raises: as `submit`.
        """
        rest = iter(submissions)
        while chunk := [one.spec() for one in islice(rest, BATCH_CHUNK)]:
            serving = self._access.serving(detach=detach, models={spec.model for spec in chunk})
            yield from (accepted.id for accepted in serving.submit(*chunk))

    def retry(self, conversation_id: str, *, detach: bool = False) -> str:
        """A new conversation that goes on from the last good turn of one that has ended without an answer.

        Raises: as `submit`.
        """
        return self._accept(child_of(retried(self._load(conversation_id), new_id())), detach)

    def fork(self, conversation_id: str, prompt: str, *, at: int, detach: bool = False) -> str:
        """A new conversation with what was said up to the end of the turn `at`, and a new prompt.

        Raises: as `submit`.
        """
        asked = Submission.of({"prompt": prompt})
        return self._accept(child_of(forked(self._load(conversation_id), new_id(), at, asked.prompt)), detach)

    def follow(self, conversation_id: str, after: str = "0", *, live: bool = True) -> Iterator[Entry | None]:
        """What happens, from the beginning (or beyond the cursor `after` of any entry), then as it comes, to the end;
        None about every second of silence. `live`: with the live stream, which is bounded and forgets.

        Waits for a redis that is away, about a minute, and goes on where it was: each event once, in order.

        Raises:
            BadRequestError: `after` is no cursor.
            NoFleetError: nobody has moved it for a while, and no orchestrator lives.
        """
        outages, position = self._outages(conversation_id), Position.at(after, live=live)
        all_told = outages.wait_for(partial(self._access.ledger.ended, conversation_id, 0.0))
        quiet_since = time.monotonic()
        while True:
            read = partial(self._access.ledger.entries, conversation_id, position.events, 1.0, position.live)
            entries = outages.attempt(read)
            for entry in map(position.passed, entries or ()):
                quiet_since = time.monotonic()
                yield entry
                if entry.type == "ended":
                    return
            if all_told and entries == []:  # `after` is the end's
                return
            if entries is None or not outages.attempt(partial(self._is_served, conversation_id, quiet_since)):
                quiet_since = time.monotonic()  # the fleet needs a moment too
            yield None

    def status(self, conversation_id: str) -> Report:
        return report(self._load(conversation_id), time.time())

    def result(self, conversation_id: str) -> Report:
        """The report of the ended conversation; waits for its end, and for a redis that is away, as `follow`."""
        outages, quiet_since = self._outages(conversation_id), time.monotonic()
        while not (ended := outages.attempt(partial(self._access.ledger.ended, conversation_id, 1.0))):
            if ended is None or not outages.attempt(partial(self._is_served, conversation_id, quiet_since)):
                quiet_since = time.monotonic()
        return outages.wait_for(partial(self.status, conversation_id))

    def transcript(self, conversation_id: str) -> Conversation:
        return self._load(conversation_id)

    def list(self, limit: int = 20) -> tuple[Report, ...]:
        """The newest conversations."""
        return tuple(report(conversation, time.time()) for conversation in self._access.ledger.newest(limit))

    def cancel(self, conversation_id: str) -> bool:
        """Ask for the end of it; False when it had ended."""
        return _asked(self._access.ledger.cancel, conversation_id)

    def pause(self, conversation_id: str) -> None:
        """From now on nothing of it is started; calls that run finish, and its deadline waits.

        Raises:
            BadRequestError: it has ended, or is ending.
        """
        self._control(self._access.ledger.pause, conversation_id, "paused")

    def resume(self, conversation_id: str) -> None:
        """What was paused goes on.

        Raises:
            BadRequestError: it has ended, or is ending.
        """
        self._control(self._access.ledger.resume, conversation_id, "resumed")

    def dead(self, limit: int = 20) -> tuple[DeadReport, ...]:
        """The newest calls that were given up because they were lost while they ran."""
        return tuple(dead_report(call) for call in self._access.ledger.dead(limit))

    def dead_call(self, call_id: str) -> DeadReport:
        """
        Raises:
            BadRequestError: no call with this id was given up, or its conversation is gone.
        """
        return dead_report(self._dead(call_id))

    def retry_dead(self, call_id: str, *, detach: bool = False) -> str:
        """A new conversation that makes this one call and answers with what it brings.

        Raises: as `submit`, and as `dead_call`.
        """
        return self._accept(repeated(self._dead(call_id), new_id()), detach)

    def running(self, role: str | None = None) -> tuple[LiveProcess, ...]:
        """Who lives on this fleet, but for the lone fleets of others."""
        return self._access.running(role)

    def redis_facts(self) -> dict[str, str]:
        """What redis says of itself, as far as this user may ask."""
        return read_facts(self._access.ledger.client)

    def look_after(self) -> bool:
        """Start again what is ours and has died. Whether it was redis."""
        return self._access.look_after()

    def _accept(self, spec: ConversationSpec, detach: bool) -> str:
        (accepted,) = self._access.serving(detach=detach, models=[spec.model]).submit(spec)
        return accepted.id

    def _control(self, ask: Callable[[str], bool], conversation_id: str, what: str) -> None:
        if not _asked(ask, conversation_id):
            status = self.status(conversation_id).status
            raise BadRequestError(
                f"{conversation_id} can't be {what}: it has ended ({status}); "
                f"`skillfleet submit --continue {conversation_id} PROMPT` goes on from it"
            )

    def _outages(self, conversation_id: str) -> Outages:
        kept = f"what it accepted is kept, `skillfleet follow {conversation_id}` shows it"
        outages = Outages(self._notice, self.look_after, kept)
        outages.wait_for(partial(self._load, conversation_id))
        return outages

    def _is_served(self, conversation_id: str, quiet_since: float) -> bool:
        """Or may still be.

        Raises:
            NoFleetError: it will not be.
            UnknownConversationError: redis came back without it.
        """
        self.look_after()
        if not self._access.ledger.client.exists(keys.state(conversation_id)):
            raise UnknownConversationError(conversation_id)
        quiet_s = time.monotonic() - quiet_since
        if not self.lone and quiet_s > FLEET_GONE_S and not self.running("orchestrator"):
            raise NoFleetError(f"no orchestrator is running; {conversation_id} waits for one (`skillfleet up`)")
        return True

    def _dead(self, call_id: str) -> DeadCall:
        call = self._access.ledger.find_dead(call_id)
        if call is None:
            raise BadRequestError(f"no dead call {call_id!r}; see `skillfleet dead list`")
        return call

    def _load(self, conversation_id: str) -> Conversation:
        conversation = self._access.ledger.load(conversation_id)
        if conversation is None:
            raise UnknownConversationError(conversation_id)
        return conversation


def _asked(ask: Callable[[str], bool], conversation_id: str) -> bool:
    try:
        return ask(conversation_id)
    except KeyError:
        raise UnknownConversationError(conversation_id) from None
