"""What SKILL.md says of its skill, read leniently: what can be used is used, the rest is a warning (pure)."""

import re
import unicodedata
from typing import Any

from .fields import declared
from .frontmatter import FrontmatterError, split
from .parts import Part
from .problems import problem
from .sources import Source, shown
from .yaml_trees import YamlTree

MAX_NAME = 64
MAX_DESCRIPTION = 1024

_RULE = re.compile(r"(=+|-+|\*+|_+)")
_NO_PROSE = re.compile(r"<!--.*?(-->|\Z)|^```.*?(^```|\Z)", re.DOTALL | re.MULTILINE)


def skill_md_part(name: str, file: str, head: bytes) -> Part:
    """`head`: the first bytes of the skill's documentation; `name`: the skill's, which is its folder's."""
    try:
        front = split(head)
    except FrontmatterError as wrong:
        return Part("skill_md", file, problems=(problem(wrong.code, str(wrong), file, wrong.line, "error"),))
    source = Source(file, front.tree.value if front.tree else {}, front.tree or YamlTree())
    _check_name(source, name)
    values: dict[str, Any] = {"documentation": file, "body_offset": front.body_offset}
    if front.tree is None:
        text = head[front.body_offset :].decode("utf-8", "replace")
        values["description"] = first_paragraph(text)
        return Part("skill_md", file, values, tuple(source.problems))
    values |= {"description": _description(source)} | declared(source)
    return Part("skill_md", file, values, tuple(source.problems), must_describe=True)


def _description(source: Source) -> str:
    description = source.fields.get("description")
    found = description.strip() if isinstance(description, str) else ""
    if len(found) > MAX_DESCRIPTION:
        message = f"the description is longer than {MAX_DESCRIPTION} characters"
        source.wrong("description-too-long", message, ("description",))
    return found


def first_paragraph(markdown: str) -> str:
    """Of running text; of a heading, where there is nothing else."""
    heading = ""
    for block in re.split(r"\n\s*\n", _NO_PROSE.sub("", markdown.replace("\r\n", "\n"))):
        lines = [line.strip() for line in block.splitlines() if line.strip()]
        while lines and lines[0].startswith("#"):
            heading = heading or lines[0].strip("# ")
            lines = lines[1:]
        if len(lines) > 1 and _RULE.fullmatch(lines[1]):
            heading = heading or lines[0]
            lines = lines[2:]
        if lines and not _RULE.fullmatch(lines[0]):
            return " ".join(lines)[:MAX_DESCRIPTION].strip()
    return heading[:MAX_DESCRIPTION]


def _check_name(source: Source, name: str) -> None:
    told = source.fields.get("name")
    if told is not None and told != name:
        message = f"the name here is {shown(told)}, the skill's is {name!r}, which holds"
        source.wrong("name-differs", message, ("name",))
        return
    plain = unicodedata.normalize("NFKC", name)
    legal = plain == plain.lower() and all(part.isalnum() for part in plain.split("-"))
    if not legal or len(plain) > MAX_NAME:
        message = f"the name {name!r} is not 1-{MAX_NAME} lower-case letters, digits and single hyphens"
        source.wrong("name-invalid", message, ("name",))
