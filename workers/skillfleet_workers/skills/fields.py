"""Where the fields of a Skill are declared, and how each is read: the one table of them (pure)."""

from collections.abc import Mapping
from typing import Any, NamedTuple, get_args

from ..wire.contract import MAX_TIMEOUT_SECONDS, Effects
from . import declared_values as read
from .models import SkillNetwork
from .sources import Reader, Source, shown

SECONDS_A_DAY = 86_400
TERABYTE_MB = 1_048_576

OWN = "metadata.skillfleet"
OPENCLAW = "metadata.openclaw"
"""Where skills that were written for that client say the same in its words."""

MAPS = ("metadata", OWN, "metadata.requires", "hooks")
HOOKS = {"pre_hook": "PreToolExecution", "post_hook": "PostToolExecution"}


class Field(NamedTuple):
    """`places`: the first at which there is a value counts."""

    read: Reader
    places: tuple[str, ...]


def _everywhere(name: str) -> tuple[str, ...]:
    return f"{OWN}.{name}", name


SEED_002: dict[str, Field] = {
    "timeout": Field(read.number(1, MAX_TIMEOUT_SECONDS, "whole seconds"), _everywhere("timeout")),
    "max_retries": Field(read.number(0, 5, "new attempts"), _everywhere("max_retries")),
    "parameters_schema": Field(read.schema, _everywhere("parameters_schema")),
    "returns_schema": Field(read.schema, _everywhere("returns_schema")),
    "dependencies": Field(read.dependencies, _everywhere("dependencies")),
    "tags": Field(read.tags, _everywhere("tags")),
}

_ENGINE: dict[str, Field] = {
    "license": Field(read.text, ("license",)),
    "compatibility": Field(read.compatibility, ("compatibility",)),
    "version": Field(read.version, ("version", "metadata.version")),
    "allowed_tools": Field(read.tools, ("allowed-tools",)),
    "model": Field(read.text, ("model",)),
    "fork": Field(read.fork, ("context",)),
    "agent": Field(read.text, ("agent",)),
    "argument_hint": Field(read.hint, ("argument-hint",)),
    "disable_model_invocation": Field(read.flag, ("disable-model-invocation",)),
    "user_invocable": Field(read.flag, ("user-invocable",)),
    "emoji": Field(read.text, ("metadata.emoji", f"{OPENCLAW}.emoji")),
    "primary_env": Field(read.variable, ("metadata.primary_env", f"{OPENCLAW}.primaryEnv")),
    "requires": Field(read.requirements_of_host, ("metadata.requires", OPENCLAW)),
    "always": Field(read.flag, ("metadata.always", f"{OPENCLAW}.always")),
    **{name: Field(read.text, (f"hooks.{hook}",)) for name, hook in HOOKS.items()},
}

_OWN: dict[str, Reader] = {
    "runtime": read.runtime,
    "image": read.image,
    "queue": read.queue,
    "network": read.choice(*get_args(SkillNetwork)),
    "preload": read.modules,
    "env": read.variables,
    "protocol": read.protocol,
    "memory_mb": read.number(16, TERABYTE_MB, "MB"),
    "pids": read.number(1, 32_768, "processes"),
    "cpu_seconds": read.number(1, SECONDS_A_DAY, "whole seconds"),
    "disk_mb": read.number(1, TERABYTE_MB, "MB"),
    "requirements": read.words,
    "effects": read.choice(*get_args(Effects)),
    "fresh_interpreter": read.flag,
    "entry": read.file,
    "inputs": read.inputs,
    "topic": read.topic,
    "spec": read.file,
    "context": read.file,
    "imports": read.modules,
}

FIELDS = SEED_002 | _ENGINE | {name: Field(reader, (f"{OWN}.{name}",)) for name, reader in _OWN.items()}


def declared(source: Source, fields: Mapping[str, Field] = FIELDS) -> dict[str, Any]:
    """The fields of a Skill that the source sets."""
    for place in MAPS:
        said = source.said(place)
        if said and not isinstance(said.value, Mapping):
            said.wrong("not-a-map", f"{said.key} is no map of keys to values; ignored")
    _name_unknown_hooks(source)
    found = {name: field.read(said) for name, field in fields.items() if (said := source.first(field.places))}
    return {name: value for name, value in found.items() if value is not None}


def _name_unknown_hooks(source: Source) -> None:
    said = source.said("hooks")
    for name in said.value if said and isinstance(said.value, Mapping) else ():
        if name not in HOOKS.values():
            source.wrong("hook-unknown", f"hooks: {shown(name)} is no hook of this client; ignored", ("hooks", name))
