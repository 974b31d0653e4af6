"""What a conversation starts with."""

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

NOBODY_ANSWERS = "Nobody can answer questions in between."
MAY_ASK = "What you cannot find out yourself and cannot do without, ask the user with ask_user before it."

CATALOG_PROMPT = """\
These skills are there. An activated skill's instructions govern what you do, and which tools you may use, until you \
activate another one or answer."""


def system_prompt(user_system: str | None, *, may_ask: bool = False) -> str:
    """The user's own words first, ours after. `may_ask`: it has the tool for that."""
    ours = f"{SKILLS_PROMPT} {MAY_ASK if may_ask else NOBODY_ANSWERS}"
    return "\n\n".join(part for part in ((user_system or "").strip(), ours) if part)


def opening(prompt: str, system: str | None = None, *, may_ask: bool = False) -> tuple[Message, ...]:
    system_text = system_prompt(system, may_ask=may_ask)
    return (Message(role="system", content=system_text), Message(role="user", content=prompt))


def with_catalog(messages: tuple[Message, ...], catalog: str) -> tuple[Message, ...]:
    """As a model is asked: what stands in the transcript, and the skills that there are."""
    if not catalog:
        return messages
    before, rest = ("", messages) if messages[0].role != "system" else (messages[0].content or "", messages[1:])
    content = "\n\n".join(part for part in (before, CATALOG_PROMPT, catalog) if part)
    return (Message(role="system", content=content), *rest)
