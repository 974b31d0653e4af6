"""The text of a settings file for single skills: what it says, and the same with a change (pure)."""

import re
from collections.abc import Iterator
from copy import copy

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator

from ..wire.shown import is_text, short
from .models import WITHHELD

TEXT, MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"

_WORDS = {
    "bool_type": "is neither true nor false",
    "bool_parsing": "is neither true nor false",
    "string_type": "is no text",
    "dict_type": "is no list of 'key: value' lines",
    "model_type": "is no list of 'key: value' lines",
    "model_attributes_type": "is no list of 'key: value' lines",
    "extra_forbidden": "is none of the settings that there are",
    "recursion_loop": "holds itself",
}

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class OverrideFileError(ValueError):
    """The text cannot be used; the message says why, and quotes no value of it."""


class Override(BaseModel):
    """What a machine sets for one skill: whether it is on, and where not, why (`reason`); the variables that its
    scripts get beside those that it declares; what its configuration gets in addition. `enabled_at`: when somebody
    turned it on last, seconds since the epoch; its health is judged from then on. Its `repr` shows no secret."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    enabled: bool = True
    enabled_at: float | None = None
    reason: str = "it is turned off on this machine"
    env: dict[str, str] = Field(default_factory=dict, repr=False)
    config: dict[str, JsonValue] = Field(default_factory=dict, repr=False)

    @field_validator("env", "config", mode="before")
    @classmethod
    def _empty(cls, value: object) -> object:
        return {} if value is None else value

    @field_validator("env")
    @classmethod
    def _variables(cls, env: dict[str, str]) -> dict[str, str]:
        for name, value in env.items():
            if not _VARIABLE.fullmatch(name):
                raise ValueError(f"has {short(name)!r}, which is no name of a variable")
            if name.startswith(WITHHELD):
                raise ValueError(f"has {name}, which is never given to a skill")
            if "\0" in value or not is_text(value):
                raise ValueError(f"has {name} with what no variable can hold: a NUL character, or half of one")
        return env


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    skills: dict[str, Override | None] = Field(default_factory=dict)

    @field_validator("skills", mode="before")
    @classmethod
    def _empty(cls, value: object) -> object:
        return {} if value is None else value


def overrides_in(text: str) -> dict[str, Override]:
    """By the skill's name. Raises: OverrideFileError"""
    root = _composed(text)
    try:
        said = yaml.SafeLoader("").construct_document(root) if root else None
        read = _File.model_validate({} if said is None else said)
    except yaml.YAMLError as wrong:
        raise OverrideFileError(_place(wrong)) from None
    except ValidationError as wrong:
        raise OverrideFileError(_first(wrong)) from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        # All that PyYAML raises over a value that is not what its tag says.
        raise OverrideFileError("it holds a value that cannot be read") from None
    return {name: override for name, override in read.skills.items() if override}


def with_enabled(text: str, name: str, enabled_at: float | None) -> str:
    """The same text, without its comments, but for whether one skill is on; None: it is off.

    Raises:
        OverrideFileError
    """
    overrides_in(text)
    root = _composed(text)
    root = root if isinstance(root, yaml.MappingNode) else _mapping()
    skill = _own(_own(root, "skills"), name)
    set_now = [
        (_text("enabled"), yaml.ScalarNode("tag:yaml.org,2002:bool", "false" if enabled_at is None else "true"))
    ]
    if enabled_at is not None:
        set_now.append((_text("enabled_at"), yaml.ScalarNode("tag:yaml.org,2002:float", f"{enabled_at:.3f}")))
    skill.value = [*set_now, *_others(skill, "enabled", "enabled_at")]
    return str(yaml.serialize(root, allow_unicode=True))


def _composed(text: str) -> yaml.Node | None:
    """Its keys and variables are the text that was written: 0123 is no number there, and yes no truth."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as wrong:
        raise OverrideFileError(_place(wrong)) from None
    except RecursionError:
        raise OverrideFileError("it is nested too deep") from None
    _as_texts([key for node in _all(root) if isinstance(node, yaml.MappingNode) for key, _ in node.value])
    for skill in _entries(_child(root, "skills")):
        _as_texts(_entries(_child(skill, "env")))
    return root


def _as_texts(nodes: list[yaml.Node]) -> None:
    for node in nodes:
        if isinstance(node, yaml.ScalarNode) and node.tag != MERGE:
            node.tag = TEXT


def _all(root: yaml.Node | None) -> Iterator[yaml.Node]:
    """Each once: an alias stands for the node itself, which may even hold it."""
    ahead, seen = [root] if root else [], set[int]()
    while ahead:
        node = ahead.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            ahead += _entries(node) if isinstance(node, yaml.MappingNode) else []
            ahead += node.value if isinstance(node, yaml.SequenceNode) else []


def _child(node: yaml.Node | None, name: str) -> yaml.Node | None:
    """The last one counts, as it does for the loader."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else []
    return next((value for key, value in reversed(pairs) if key.value == name), None)


def _entries(node: yaml.Node | None) -> list[yaml.Node]:
    return [value for _, value in node.value] if isinstance(node, yaml.MappingNode) else []


def _own(parent: yaml.Node, name: str) -> yaml.MappingNode:
    """The mapping under this name, in a node of its own: others may be aliases of the one that was there."""
    found, made = _child(parent, name), _mapping()
    if isinstance(found, yaml.MappingNode):
        made.value = [(copy(key), value) for key, value in found.value]
    parent.value = [*_others(parent, name), (_text(name), made)]
    return made


def _others(parent: yaml.Node, *names: str) -> list[tuple[yaml.Node, yaml.Node]]:
    return [(key, value) for key, value in parent.value if key.value not in names]


def _mapping() -> yaml.MappingNode:
    return yaml.MappingNode("tag:yaml.org,2002:map", [], flow_style=False)


def _text(value: str) -> yaml.ScalarNode:
    return yaml.ScalarNode(TEXT, value)


def _place(wrong: yaml.YAMLError) -> str:
    """Not PyYAML's own words: they quote the line, which may hold a secret."""
    mark = getattr(wrong, "problem_mark", None)
    return f"it is no YAML that can be read, at line {mark.line + 1}" if mark else "it is no YAML that can be read"


def _first(wrong: ValidationError) -> str:
    error = wrong.errors(include_url=False)[0]
    where = ".".join(str(part) for part in error["loc"]) or "it"
    return f"{short(where, 120)} {_WORDS.get(error['type'], error['msg'].removeprefix('Value error, '))}"
