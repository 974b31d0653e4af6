"""agent list, show, pause, resume, cancel: conversations as subagents."""

from collections.abc import Callable
from typing import Annotated

import typer

from ..errors import UnknownConversationError
from ..fleet import Fleet
from ..subagents.models import AgentState
from ..subagents.view import Subagent
from .agent_display import agent_lines, agents_table, agents_trees
from .display import print_json, stdout_console
from .following import Json

AgentId = Annotated[str, typer.Argument(metavar="ID", help="The subagent's id.", show_default=False)]


def list_agents(
    state: Annotated[AgentState | None, typer.Option(help="Only those in this state.")] = None,
    parent: Annotated[str | None, typer.Option(metavar="ID", help="Only those that this one has begun.")] = None,
    root: Annotated[str | None, typer.Option(metavar="ID", help="Only those below this one.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many, newest first.")] = 20,
    tree: Annotated[bool, typer.Option("--tree", help="Each under the one that began it.")] = False,
    as_json: Json = False,
) -> None:
    """The newest subagents."""
    with Fleet() as fleet:
        found = fleet.agents(limit, state, parent, root)
        roots = _roots(fleet, found) if tree and not as_json else []
    if as_json:
        print_json([one.model_dump(mode="json") for one in found])
    elif not found:
        print("No subagents: `skillfleet submit --subagents PROMPT` lets a conversation begin some.")
    elif tree:
        for top in agents_trees([*roots, *found]):
            stdout_console().print(top)
    else:
        stdout_console().print(agents_table(found))


def _roots(fleet: Fleet, found: tuple[Subagent, ...]) -> list[Subagent]:
    """Of their trees, where they are kept and not among them."""
    roots = []
    for name in sorted({one.root for one in found} - {one.agent_id for one in found}):
        try:
            roots.append(fleet.agent(name))
        except UnknownConversationError:
            continue
    return roots


def show_agent(agent_id: AgentId, as_json: Json = False) -> None:
    """Everything about one of them: state, skill and parameters, answer, results by skill, times, metadata."""
    with Fleet() as fleet:
        agent = fleet.agent(agent_id)
    if as_json:
        print_json(agent.model_dump(mode="json"))
    else:
        print("\n".join(agent_lines(agent)))


def pause_agent(agent_id: AgentId, as_json: Json = False) -> None:
    """Start nothing more of it, nor of its children."""
    _move(Fleet.pause_agent, agent_id, "pausing", as_json)


def resume_agent(agent_id: AgentId, as_json: Json = False) -> None:
    """Let it go on."""
    _move(Fleet.resume_agent, agent_id, "goes on", as_json)


def cancel_agent(agent_id: AgentId, as_json: Json = False) -> None:
    """End it, and its children with it."""
    _move(Fleet.cancel_agent, agent_id, "cancelling", as_json)


def _move(move: Callable[[Fleet, str], None], agent_id: str, done: str, as_json: bool) -> None:
    with Fleet() as fleet:
        move(fleet, agent_id)
        if as_json:
            print_json(fleet.agent(agent_id).model_dump(mode="json"))
        else:
            print(f"{agent_id}: {done}")


QUERIES: dict[str, Callable[..., None]] = {
    "list": list_agents,
    "show": show_agent,
    "pause": pause_agent,
    "resume": resume_agent,
    "cancel": cancel_agent,
}
