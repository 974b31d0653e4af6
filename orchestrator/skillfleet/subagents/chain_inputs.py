"""What the steps of a chain are given: parameters of the run, and what the steps before them have come to (pure)."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from pydantic import JsonValue

from skillfleet_workers.wire.schema_defaults import named_by, with_defaults
from skillfleet_workers.wire.shown import short
from skillfleet_workers.wire.versions import split

from ..llm.rendering import REFERENCE, SHOWN_CHARS, UnresolvedReference
from .models import AgentSpec, ChainStep

PARAMS = "params"
"""In a reference, the parameters of the run: as if they were a step's output."""

Outputs = Mapping[str, Mapping[str, JsonValue]]
"""By the name of the skill."""

_WHOLE = re.compile(r"\$\{([^}]*)\}")


def references(value: JsonValue) -> Iterator[str]:
    """All that is quoted in its texts."""
    match value:
        case str():
            yield from (found[1].strip() for found in REFERENCE.finditer(value) if found[1] is not None)
        case dict():
            for part in value.values():
                yield from references(part)
        case list():
            for part in value:
                yield from references(part)


def quoted(reference: str, names: Iterable[str]) -> str:
    """Whose output it leads into; empty: of none of these. A version in a name has dots, too."""
    fits = (name for name in names if reference == name or reference.startswith(f"{name}."))
    return max(fits, key=len, default="")


def filled(value: JsonValue, outputs: Outputs) -> JsonValue:
    """A text that is nothing but a reference becomes the value that it leads to; `$${` stands for `${`.

    Raises:
        UnresolvedReference: there is no such value.
    """

    def text(written: str) -> JsonValue:
        whole = _WHOLE.fullmatch(written)
        if whole:
            return _resolved(whole[1].strip(), outputs)
        return REFERENCE.sub(lambda found: "${" if found[1] is None else _printed(found[1], outputs), written)

    return _with_texts(value, text)


def with_params(inputs: Mapping[str, JsonValue], params: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The run's parameters in place of the references to them; those to steps stay, and nothing in a parameter
    becomes one.

    Raises:
        UnresolvedReference: there is no such parameter.
    """
    known = {PARAMS: {name: _with_texts(value, _escaped) for name, value in params.items()}}

    def text(written: str) -> JsonValue:
        whole = _WHOLE.fullmatch(written)
        if whole and quoted(whole[1].strip(), known):
            return _resolved(whole[1].strip(), known)
        return REFERENCE.sub(
            lambda found: _printed(found[1], known) if quoted((found[1] or "").strip(), known) else found[0], written
        )

    return {name: _with_texts(value, text) for name, value in inputs.items()}


def _with_texts(value: JsonValue, text: Callable[[str], JsonValue]) -> JsonValue:
    match value:
        case str():
            return text(value)
        case dict():
            return {name: _with_texts(part, text) for name, part in value.items()}
        case list():
            return [_with_texts(part, text) for part in value]
    return value


def _escaped(written: str) -> str:
    return written.replace("${", "$${")


def given(step: ChainStep, agent: AgentSpec, outputs: Outputs) -> dict[str, JsonValue]:
    """The arguments of its script, once the steps that it comes after have succeeded.

    Raises:
        UnresolvedReference: they did not bring what its inputs quote.
    """
    names = named_by(step.parameters)
    brought = (outputs.get(name, {}) for name in before(step, agent.steps))
    known = params_for(step, agent.skill, agent.steps, agent.params)
    known |= {name: value for output in brought for name, value in output.items() if name in names}
    known |= {name: filled(value, outputs) for name, value in step.inputs.items()}
    return with_defaults(step.parameters, known)


def params_for(
    step: ChainStep, asked: str, steps: Sequence[ChainStep], params: Mapping[str, JsonValue]
) -> dict[str, JsonValue]:
    """Of the run's, those that the step's schema names. The skill that was asked for gets those besides that no other
    step's schema names, and all where it has none."""
    names = named_by(step.parameters)
    if split(step.skill)[0] != split(asked)[0]:
        return {name: value for name, value in params.items() if name in names}
    if not step.parameters:
        return dict(params)
    others = {name for one in steps if one is not step for name in named_by(one.parameters)}
    return {name: value for name, value in params.items() if name in names or name not in others}


def before(step: ChainStep, steps: Sequence[ChainStep]) -> list[str]:
    """All that it comes after, the nearest last."""
    places, after = {one.skill: at for at, one in enumerate(steps)}, {one.skill: one.after for one in steps}
    distances: dict[str, int] = {}
    level, distance = set(step.after), 1
    while level:
        distances |= dict.fromkeys(level - distances.keys(), distance)
        level = {name for one in level for name in after.get(one, ()) if name not in distances}
        distance += 1
    return sorted(distances, key=lambda name: (-distances[name], places.get(name, 0)))


def _resolved(reference: str, outputs: Outputs) -> JsonValue:
    name = quoted(reference, outputs)
    if not name:
        raise UnresolvedReference(f"${{{reference}}}: no step of that name has succeeded before")
    value: JsonValue = dict(outputs[name])
    try:
        for part in reference[len(name) + 1 :].split(".") if reference != name else ():
            value = value[int(part)] if isinstance(value, list) else value[part]  # type: ignore[index]
    except (KeyError, IndexError, ValueError, TypeError):
        shown = short(json.dumps(outputs[name], ensure_ascii=False), SHOWN_CHARS)
        raise UnresolvedReference(f"${{{reference}}}: not in what {name} has come to: {shown}") from None
    return value


def _printed(reference: str, outputs: Outputs) -> str:
    value = _resolved(reference.strip(), outputs)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
