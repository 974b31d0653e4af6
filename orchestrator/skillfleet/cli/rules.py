"""--ask, --allow and --deny: what a person is asked about, in the order in which it is written."""

from typing import Annotated

import typer
from typer.core import TyperCommand

Ask = Annotated[
    list[str] | None, typer.Option(metavar="TOOL[@SKILL]", help="Ask a person before such calls (repeatable).")
]
Allow = Annotated[
    list[str] | None,
    typer.Option(metavar="TOOL[@SKILL]", help="Make such calls unasked; the last rule that fits decides."),
]
Deny = Annotated[list[str] | None, typer.Option(metavar="TOOL[@SKILL]", help="Never make such calls (repeatable).")]

_ORDER = "skillfleet.order"


class OrderedCommand(TyperCommand):
    """Remembers the order in which its options were written, which is lost where one is repeatable."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        _, _, written = self.make_parser(ctx).parse_args(args=list(args))
        ctx.meta[_ORDER] = [parameter.name for parameter in written]
        return super().parse_args(ctx, args)


def rules_of(context: typer.Context, **targets: list[str] | None) -> tuple[str, ...]:
    """Each as VERDICT:TOOL[@SKILL]. `targets`: by verdict. The command is to be an OrderedCommand."""
    rest = {verdict: iter(written or ()) for verdict, written in targets.items()}
    order = [name for name in context.meta[_ORDER] if name in rest]
    return tuple(f"{verdict}:{next(rest[verdict])}" for verdict in order)
