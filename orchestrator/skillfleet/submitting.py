"""Submitting conversations: a part of the Fleet."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypedDict, Unpack

from pydantic import BaseModel

from .conversations.dead import repeated
from .conversations.descent import continued, forked, retried
from .conversations.models import ConversationSpec
from .handed import Given, HandedFile, read_handed
from .handing_in import hand_in
from .opened import Opened
from .submission import Submission, child_of, new_id

BATCH_CHUNK = 100
"""Conversations of a batch that are accepted in one round trip."""


class Options(TypedDict, total=False):
    """`model`: a name of the provider's, `scripted:FILE`, or `replay:FILE`. `skills`: the only ones that it may use.

    `timeout`: seconds of wall time; `max_turns` to `max_cost`: further limits, in tokens and by the prices of the
    models. `schema`: the JSON Schema that the answer has to fit, a pydantic model class, or a file; the report then
    has its `data`. `images`: for the model and for scripts; `files`: for scripts. `rules`: what a person is asked
    about, each as VERDICT:TOOL[@SKILL] (docs/approvals.md). `ask_user`: the model may ask questions;
    `person_timeout`: seconds for which it waits for a person at most. `record`: so that `Fleet.record` can tell it.
    `subagents`: it may begin subagents, `max_children` of them at once (10), and they may exchange messages. `plans`:
    it may execute plans (docs/plans.md).

    `tenant`: for whom ("default"); tenants share the fleet alike. `priority` among the tenant's own: 1, which comes
    first, to 10 (5). `idempotency_key`: the tenant's second submission with the same one gives the id of the first.
    """

    model: str
    system: str | None
    skills: Sequence[str] | None
    timeout: float | None
    max_turns: int | None
    max_tool_calls: int | None
    max_input_tokens: int | None
    max_output_tokens: int | None
    max_cost: float | None
    max_children: int | None
    subagents: bool
    plans: bool
    schema: dict[str, Any] | type[BaseModel] | str | None
    images: Sequence[Given]
    files: Sequence[Given]
    rules: Sequence[str]
    ask_user: bool
    person_timeout: float | None
    record: bool
    tenant: str | None
    priority: int | None
    idempotency_key: str | None


class Submitting(Opened):
    def submit(
        self, prompt: str = "", *, continues: str | None = None, detach: bool = False, **options: Unpack[Options]
    ) -> str:
        """Queue a conversation; when this returns its id, the conversation is stored, and so are its files.

        `prompt` may be empty where the model is `replay:FILE`: then it is the recorded one. `continues`: the ended
        conversation whose history, activated skills, limits and files it has. `detach`: only on a fleet that runs
        already.

        Raises:
            BadRequestError: an empty prompt, an option out of range, a bad file, one to continue that has not ended.
            NoFleetError: no fleet is running, and none may be started.
        """
        given: dict[str, Any] = {"prompt": prompt, **options}
        given["skills"] = tuple(options.get("skills") or ()) or None
        given["rules"] = tuple(options.get("rules", ()))
        asked = Submission.of(read_handed(given), goes_on=continues is not None)
        if continues is None:
            return self._accept(asked.spec(), detach, asked.handed)
        spec = asked.onto(child_of(continued(self._load(continues), new_id(), asked.prompt)))
        return self._accept(spec, detach, asked.handed)

    def submit_batch(self, submissions: Iterable[Submission], *, detach: bool = False) -> Iterator[str]:
        """The ids, in order, as they are accepted; see `read_batch`.

        Raises: as `submit`.
        """
        rest = iter(submissions)
        while chunk := list(islice(rest, BATCH_CHUNK)):
            specs = [one.spec() for one in chunk]
            serving = self._access.serving(*specs, detach=detach)
            hand_in(self.settings, (file for one in chunk for file in one.handed))
            yield from (accepted.id for accepted in serving.submit(*specs))

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

    def retry_dead(self, call_id: str, *, detach: bool = False) -> str:
        """A new conversation that makes this one call and answers with what it brings.

        Raises: as `submit`, and as `dead_call`.
        """
        return self._accept(repeated(self._dead(call_id), new_id()), detach)

    def _accept(self, spec: ConversationSpec, detach: bool, handed: Iterable[HandedFile] = ()) -> str:
        serving = self._access.serving(spec, detach=detach)
        hand_in(self.settings, handed)
        return serving.submit(spec)[0].id
