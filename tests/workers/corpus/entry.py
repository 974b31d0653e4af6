"""One folder of the corpus, and what lenient reading must make of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["loads", "warns", "skipped"]
"""`warns`: it loads, with at least one warning."""

NAME = "calc"


@dataclass(frozen=True, slots=True)
class Entry:
    """`description`: what it must come to; None: none, or whatever."""

    title: str
    files: Mapping[str, bytes]
    outcome: Outcome
    description: str | None = None
    folder: str = field(default=NAME)


def md(title: str, text: str | bytes, outcome: Outcome, description: str | None = None, folder: str = NAME) -> Entry:
    content = text if isinstance(text, bytes) else text.encode()
    return Entry(title, {"SKILL.md": content}, outcome, description, folder)


def front(title: str, lines: str, outcome: Outcome, description: str | None = None) -> Entry:
    """A file whose frontmatter is these lines and nothing more."""
    return md(title, f"---\n{lines}\n---\n# Body\n", outcome, description)


def beside(title: str, lines: str, outcome: Outcome) -> Entry:
    """These lines, beside a name and a description that are right."""
    return front(
        title, f"name: {NAME}\ndescription: Adds.\n{lines}", outcome, None if outcome == "skipped" else "Adds."
    )
