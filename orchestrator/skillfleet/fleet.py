"""Fleet: the public Python API, the same verbs as the command line."""

import atexit
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import redis
from pydantic import ValidationError

from skillfleet_workers.wire.connection import RedisUrls, load_settings
from skillfleet_workers.wire.presence import LiveProcess, live_processes

from .app import make_ledger
from .conversations.models import Conversation, ConversationSpec, Limits
from .conversations.redis_ledger import RedisLedger
from .conversations.report import Report, report
from .errors import BadRequestError, FleetError, NoBrokerError, NoFleetError, UnknownConversationError
from .events import Entry
from .llm.prompts import opening
from .llm.scripted import load_script
from .local.lone import LoneFleet, lone_name
from .local.redis_server import PrivateRedis
from .local.uninterrupted import uninterrupted
from .settings import SCRIPTED, OrchestratorSettings
from .tools.definitions import all_definitions

FLEET_GONE_S = 30.0
"""A conversation that nobody moves is given up by its followers after this long; it stays in the ledger."""


class Fleet:
    """Use it as a context manager, on the main thread:

        with Fleet() as fleet:
            print(fleet.result(fleet.submit("What is 6 * 7?")).answer)

    With no fleet running and no SKILLFLEET_REDIS_URL, `submit` starts one of its own that ends with the block.

    Raises (every verb): SettingsError, NoBrokerError; UnknownConversationError where an id is given.
    """

    def __init__(self, settings: OrchestratorSettings | None = None) -> None:
        self.settings = settings or load_settings(OrchestratorSettings)
        self._name = lone_name()
        self._stack = ExitStack()
        self._lone: LoneFleet | None = None
        self._private: PrivateRedis | None = None
        self._opened: RedisLedger | None = None

    def __enter__(self) -> Self:
        # A signal may fall between the bytecodes of `with` itself: then the end of the process closes it.
        atexit.register(self._close)
        try:
            if self.settings.redis_url is None:
                self._private = PrivateRedis(self.settings)
                self._stack.callback(self._private.close)
                self._private.open()
            self._opened = make_ledger(self.settings)
            self._opened.client.ping()
        except redis.RedisError as error:
            self._close()
            where = RedisUrls.of(self.settings).safe
            raise NoBrokerError(
                f"cannot use redis at {where}: {error}; start it or set SKILLFLEET_REDIS_URL"
            ) from None
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _close(self) -> None:
        with uninterrupted():
            try:
                self._stack.close()
            finally:
                self._lone = self._private = self._opened = None
                atexit.unregister(self._close)

    @property
    def _ledger(self) -> RedisLedger:
        if self._opened is None:
            raise FleetError("the fleet is not open: use it as `with Fleet() as fleet:`")
        return self._opened

    @property
    def lone(self) -> bool:
        """Whether this fleet is our own, and ends with us."""
        return self._lone is not None

    def submit(
        self,
        prompt: str,
        *,
        model: str = "",
        system: str | None = None,
        skills: Sequence[str] | None = None,
        timeout: float | None = None,
        max_turns: int | None = None,
        detach: bool = False,
    ) -> str:
        """Queue a conversation; when this returns its id, the conversation is stored.

        `model`: a name of the provider's, or `scripted:FILE`. `timeout`: seconds of wall time. `detach`: only on a
        fleet that runs already.

        Raises:
            BadRequestError: an empty prompt, or a limit out of range.
            NoFleetError: no fleet is running, and none may be started.
        """
        spec = self._spec(prompt, model, system, skills, timeout, max_turns)
        running = self.running("orchestrator")
        if not running and (detach or self.settings.redis_url):
            raise NoFleetError(
                "no fleet is running; start one with `skillfleet up`"
                + ("" if self.settings.redis_url else ", or submit without --detach")
            )
        if running:
            self._ledger.submit(spec)
        else:
            self.settings.require_model(model)
            self._own_fleet().submit(spec)
        return spec.id

    def follow(self, conversation_id: str, after: str = "0") -> Iterator[Entry | None]:
        """What happens, from the beginning, then live, to the end; None about every second of silence.

        Raises:
            NoFleetError: nobody has moved it for a while, and no orchestrator lives.
        """
        self._load(conversation_id)
        quiet_since = time.monotonic()
        while True:
            with _redis_at_hand(conversation_id):
                entries = self._ledger.entries(conversation_id, after, 1.0)
            for entry in entries:
                after, quiet_since = entry.cursor, time.monotonic()
                yield entry
                if entry.type == "ended":
                    return
            self._check_alive(conversation_id, time.monotonic() - quiet_since)
            yield None

    def status(self, conversation_id: str) -> Report:
        return report(self._load(conversation_id), time.time())

    def result(self, conversation_id: str) -> Report:
        """The report of the ended conversation; waits for its end."""
        self._load(conversation_id)
        began = time.monotonic()
        with _redis_at_hand(conversation_id):
            while not self._ledger.ended(conversation_id, 1.0):
                self._check_alive(conversation_id, time.monotonic() - began)
        return self.status(conversation_id)

    def transcript(self, conversation_id: str) -> Conversation:
        return self._load(conversation_id)

    def list(self, limit: int = 20) -> tuple[Report, ...]:
        """The newest conversations."""
        return tuple(report(conversation, time.time()) for conversation in self._ledger.newest(limit))

    def cancel(self, conversation_id: str) -> bool:
        """Ask for the end of it; False when it had ended."""
        try:
            return self._ledger.cancel(conversation_id)
        except KeyError:
            raise UnknownConversationError(conversation_id) from None

    def running(self, role: str | None = None) -> tuple[LiveProcess, ...]:
        """Who lives on this fleet, but for the lone fleets of others."""
        living = live_processes(self._ledger.client, self.settings.fleet)
        return tuple(p for p in living if not p.lone and role in (None, p.role))

    def redis_facts(self) -> dict[str, str]:
        """What redis says of itself (its INFO)."""
        return {name: str(value) for name, value in self._ledger.client.info().items()}

    def look_after(self) -> bool:
        """Start again what is ours and has died: the private redis, the worker of a fleet of our own. Whether it
        was redis."""
        if self._lone:
            self._lone.look_after()
        return self._private is not None and self._private.look_after()

    def _check_alive(self, conversation_id: str, quiet_s: float) -> None:
        self.look_after()
        if self._lone is None and quiet_s > FLEET_GONE_S and not self.running("orchestrator"):
            raise NoFleetError(f"no orchestrator is running; {conversation_id} waits for one (`skillfleet up`)")

    def _own_fleet(self) -> LoneFleet:
        if self._lone is None:
            self._lone = LoneFleet(self.settings, make_ledger(self.settings, bell=self._name), self._name)
            self._stack.callback(self._lone.close)
            self._lone.start()
        return self._lone

    def _load(self, conversation_id: str) -> Conversation:
        conversation = self._ledger.load(conversation_id)
        if conversation is None:
            raise UnknownConversationError(conversation_id)
        return conversation

    def _spec(
        self,
        prompt: str,
        model: str,
        system: str | None,
        skills: Sequence[str] | None,
        timeout: float | None,
        max_turns: int | None,
    ) -> ConversationSpec:
        if not prompt.strip():
            raise BadRequestError("the prompt is empty; say what you want answered")
        for what, text in {"prompt": prompt, "system prompt": system or "", "skills": " ".join(skills or ())}.items():
            _check_storable(what, text)
        return ConversationSpec(
            id=new_id(),
            model=model,
            script=_script(model),
            opening=opening(prompt, system),
            tools=all_definitions(),
            skills=tuple(skills) if skills else None,
            limits=_limits(timeout, max_turns),
        )


def _check_storable(what: str, text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadRequestError(f"the {what} holds half a surrogate pair, which no JSON can carry; send text") from None


@contextmanager
def _redis_at_hand(conversation_id: str) -> Iterator[None]:
    try:
        yield
    except redis.RedisError as error:
        kept = f"what it accepted is kept, `skillfleet follow {conversation_id}` shows it"
        raise NoBrokerError(f"lost redis: {error}; {kept}") from None


def new_id() -> str:
    """Sortable by time, unique without asking anybody."""
    return f"{int(time.time() * 1000):012x}{secrets.token_hex(4)}"


def _limits(timeout: float | None, max_turns: int | None) -> Limits:
    given = {"timeout_s": timeout, "max_turns": max_turns}
    options = {"timeout_s": "--timeout", "max_turns": "--max-turns"}
    try:
        return Limits.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as wrong:
        problem = wrong.errors(include_url=False)[0]
        raise BadRequestError(f"{options[str(problem['loc'][0])]}: {problem['msg']}") from None


def _script(model: str) -> dict[str, object] | None:
    if not model.startswith(SCRIPTED):
        return None
    try:
        return load_script(Path(model.removeprefix(SCRIPTED)))
    except ValueError as wrong:
        raise BadRequestError(f"--model: {wrong}") from None
