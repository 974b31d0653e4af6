"""artifacts: the files that the scripts of a conversation have brought."""

from pathlib import Path
from typing import Annotated

import typer

from skillfleet_workers.wire.printable import printable

from ..fleet import Fleet
from ..saving import SavedFile
from .display import print_json, stdout_console
from .exits import ANSWERED, FAILED, complain
from .following import Id, Json
from .tables import artifacts_table


def artifacts(
    conversation_id: Id,
    save: Annotated[Path | None, typer.Option(help="Save them here, as CALL/PATH; no file is overwritten.")] = None,
    as_json: Json = False,
) -> int:
    """The files that scripts have brought, by the calls that brought them."""
    with Fleet() as fleet:
        if save is not None:
            return _told(fleet.save(conversation_id, save), as_json=as_json)
        found = fleet.artifacts(conversation_id)
    if as_json:
        print_json([one.model_dump(mode="json") for one in found])
    elif found:
        stdout_console().print(artifacts_table(found))
    else:
        print("No script has brought a file.")
    return ANSWERED


def _told(saved: tuple[SavedFile, ...], *, as_json: bool) -> int:
    """On stdout what is there now."""
    if as_json:
        print_json([_as_json(one) for one in saved])
    for one in saved:
        if not one.there:
            complain(f"{one.path}: is not saved: {one.why}")
        elif not as_json:
            print(printable(str(one.path)) + ("" if one.outcome == "written" else " (was there)"))
    return ANSWERED if all(one.there for one in saved) else FAILED


def _as_json(one: SavedFile) -> dict[str, object]:
    told = {"file": str(one.path), "outcome": one.outcome, "why": one.why}
    return one.artifact.model_dump(mode="json") | told
