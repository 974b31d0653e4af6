"""What a conversation starts with."""

import json
from collections.abc import Sequence
from typing import Any

from skillfleet_workers.wire.files import StoredFile

from ..conversations.messages import Message

SKILLS_PROMPT = """\
You solve tasks with skills: folders of documentation, code and data that you reach only through your tools.

- Where available_skills are listed below, activate the skill that fits the task with `skill` before you work on it. \
Else start with list_skills, and read a skill with get_skill before you use it. Read the further files that it names \
with read_file_in_skill.
- Prefer a skill's own scripts over writing code. Its instructions name them: each is then a tool of its own, and \
run_skill_script runs any of them. What they don't do, do with run_python_script, on the skill's own modules.
- State only results that a tool really returned. When a run fails, read its error, correct the call and run \
it again; if it can't be done, say so and why.
- A script hands files back by writing them into the folder named by the environment variable \
SKILLFLEET_OUTPUT_DIR; its stdout is for short results.
- Calls that don't need each other's results go out together.
- End with one concise answer to the task."""

SUBAGENTS_PROMPT = """\
Subagents can work on parts of the task: each is a conversation of its own, with these tools.

- Spawn one for a part that takes several steps, needs nothing of the others, and has a short answer. What a call or \
two can do, do yourself. Those that you spawn in one turn work side by side.
- A subagent sees its prompt and nothing else of yours: write down all that it needs, and what its answer should say.
- With wait=false you go on at once, and await_subagents brings the answers. Do that before you answer: a subagent \
ends with the agent that began it. What they use counts against your limits.
- Messages are for agents that work at the same time: send_message to one, publish to all that have subscribed to a \
topic; receive_messages brings what has come, and can wait for it. The answer of a subagent is no message."""

NOBODY_ANSWERS = "Nobody can answer questions in between."
MAY_ASK = "What you cannot find out yourself and cannot do without, ask the user with ask_user before it."

CATALOG_PROMPT = """\
These skills are there. An activated skill's instructions govern what you do, and which tools you may use, until you \
activate another one or answer."""

FILES_PROMPT = """\
Files came with the task. Scripts read them in the folder named by the environment variable SKILLFLEET_INPUT_DIR, \
under the names that the task lists; no other tool reads them."""

FILES_TOLD = "Files that scripts find in the folder named by the environment variable SKILLFLEET_INPUT_DIR:"

SCHEMA_PROMPT = """\
Your last answer, the one without tool calls, is JSON alone, with no word before or after it, and fits this JSON \
Schema:"""


def system_prompt(
    user_system: str | None, *, files: bool = False, may_ask: bool = False, subagents: bool = False
) -> str:
    """The user's own words first, ours after. `may_ask`, `subagents`: it has the tools for that."""
    skills = f"{SKILLS_PROMPT} {MAY_ASK if may_ask else NOBODY_ANSWERS}"
    further = [part for part, wanted in ((SUBAGENTS_PROMPT, subagents), (FILES_PROMPT, files)) if wanted]
    return "\n\n".join(part for part in ((user_system or "").strip(), skills, *further) if part)


def subagent_prompt(name: str, own_id: str, parent_id: str) -> str:
    """What a subagent is told of itself; its task is the prompt."""
    who = f"You are the subagent {name!r}" if name else "You are a subagent"
    return f"""\
{who}: another agent has given you a part of its task. Your last answer goes to it as it stands, and it sees nothing \
else of what you do.

- Your agent_id is {own_id}, that of the agent that began you {parent_id}; a message to 'parent' goes there too.
- It may be waiting for your answer, and then it reads no messages: what it has to know belongs into the answer.
- You end when it ends, and what you use counts against its limits."""


def users_own(system: str) -> str:
    """What a user's own words were, in a system prompt of this release."""
    return system.rpartition(SKILLS_PROMPT)[0].strip() if SKILLS_PROMPT in system else system.strip()


def opening(
    prompt: str,
    system: str | None = None,
    files: Sequence[StoredFile] = (),
    images: Sequence[StoredFile] = (),
    *,
    may_ask: bool = False,
    subagents: bool = False,
) -> tuple[Message, ...]:
    """`files`: all that come with it; `images`: those of them that the model is shown."""
    told = system_prompt(system, files=bool(files), may_ask=may_ask, subagents=subagents)
    return (Message(role="system", content=told), prompted(prompt, files, images))


def prompted(prompt: str, files: Sequence[StoredFile] = (), images: Sequence[StoredFile] = ()) -> Message:
    """The user's message, which tells of the files."""
    told = "".join(f"\n- {file.name} ({file.media_type}, {file.bytes} bytes)" for file in files)
    content = f"{prompt}\n\n[{FILES_TOLD}{told}]" if files else prompt
    return Message(role="user", content=content, attachments=tuple(images) or None)


def with_catalog(
    messages: tuple[Message, ...], catalog: str, schema: dict[str, Any] | None = None
) -> tuple[Message, ...]:
    """As a model is asked: what stands in the transcript, the skills that there are, and what its answer has to fit:
    not every provider tells it."""
    told = [CATALOG_PROMPT, catalog] if catalog else []
    if schema is not None:
        told += [SCHEMA_PROMPT, json.dumps(schema, ensure_ascii=False)]
    if not told:
        return messages
    before, rest = ("", messages) if messages[0].role != "system" else (messages[0].content or "", messages[1:])
    content = "\n\n".join(part for part in (before, *told) if part)
    return (Message(role="system", content=content), *rest)
