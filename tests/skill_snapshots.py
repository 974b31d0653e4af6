"""Skills for tests, as workers publish them, and conversations that have activated some."""

from typing import Any

from tests.conversation_steps import after, asks, awaiting_model, call

from skillfleet.conversations.models import Conversation
from skillfleet.conversations.moves import ToolFinished
from skillfleet_workers.wire.contract import Governing, ScriptTool
from skillfleet_workers.wire.published import PublishedSkill, Snapshot


def published(name: str, description: str = "Does it.", version: str = "1.0.0", **more: Any) -> PublishedSkill:
    digest = f"digest-of-{name}-{version}"
    fields = {"digest": digest, "location": f"project/{name}/SKILL.md", **more}
    return PublishedSkill(name=name, version=version, description=description, **fields)


def snapshot(*skills: PublishedSkill | str) -> Snapshot:
    return Snapshot(skills=tuple(published(one) if isinstance(one, str) else one for one in skills))


def governing(skill: str, version: str = "1.0.0", **more: Any) -> Governing:
    return Governing(skill=skill, version=version, digest=f"digest-of-{skill}-{version}", **more)


def activated(key: str, skill: str, *scripts: ScriptTool, **more: Any) -> ToolFinished:
    """A worker's answer to the activation."""
    text = f'<skill_content name="{skill}">'
    return ToolFinished(key, "succeeded", text, "w1", tools=scripts, governing=governing(skill, **more))


def under(skill: str, *scripts: ScriptTool, **more: Any) -> Conversation:
    """Its model is asked for the second turn, which this skill governs."""
    asking = after(awaiting_model(), asks(call("skill", name=skill)))
    return after(asking, activated("1.0", skill, *scripts, **more))


class Shelf:
    """Catalogs whose workers come and change as a test says."""

    def __init__(self, now: Snapshot | None = None) -> None:
        self.now, self.kept = now, {now.id: now} if now else {}
        self.looks = 0

    def publish(self, now: Snapshot | None) -> None:
        self.now = now
        if now:
            self.kept[now.id] = now

    def current(self) -> Snapshot | None:
        self.looks += 1
        return self.now

    def read(self, snapshot_id: str) -> Snapshot | None:
        return self.kept.get(snapshot_id)
