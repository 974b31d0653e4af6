"""Whether a call may be made, must be approved by a person, or is refused: what the rules say of it (pure)."""

import posixpath
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

from skillfleet_workers.wire.contract import RUN_SCRIPT, ToolError, skill_of
from skillfleet_workers.wire.versions import split

from ..conversations.models import Conversation, Rule
from .dispatch import Dispatch, Meaning, OwnCall

Verdict = Literal["allow", "ask", "deny"]
STRICTNESS: tuple[Verdict, ...] = get_args(Verdict)
"""From the mildest to the strictest."""


def rule_of(verdict: str, target: str) -> Rule:
    """`target`: TOOL[@SKILL], two globs.

    Raises:
        ValueError: what is wrong with it.
    """
    tool, at, skill = (part.strip() for part in target.partition("@"))
    if verdict not in STRICTNESS:
        raise ValueError(f"{verdict!r} is no verdict; write ask, allow or deny")
    wrong = any(character.isspace() or character in ":,@" for character in tool + skill)
    if wrong or not tool or (at and not skill):
        raise ValueError(f"{target.strip()!r} is not TOOL[@SKILL], such as run_python_script or *@calculator")
    return Rule.model_validate({"verdict": verdict, "tool": tool, "skill": skill or "*"})


def read_rules(text: str) -> tuple[Rule, ...]:
    """VERDICT:TOOL[@SKILL], separated by commas.

    Raises:
        ValueError: what is wrong with the first that is.
    """
    written = [part for part in text.split(",") if part.strip()]
    return tuple(map(read_rule, written))


def read_rule(part: str) -> Rule:
    """
    Raises:
        ValueError: what is wrong with it.
    """
    verdict, colon, target = part.partition(":")
    if not colon:
        raise ValueError(f"{part.strip()!r} is not VERDICT:TOOL[@SKILL], such as ask:run_python_script")
    return rule_of(verdict.strip(), target)


def permission(name: str, meant: Meaning, conversation: Conversation, operators: Sequence[Rule]) -> Verdict:
    """Of the call of what the model knows as `name`. Between what the fleet's operator says and what the submitter
    says the stricter holds."""
    if isinstance(meant, ToolError):
        return "allow"
    tool = meant.spec.tool if isinstance(meant, Dispatch) else name
    names = {name, tool} | _script_tools(tool, meant.request, conversation)
    skill = (meant.request.get("skill") if isinstance(meant, OwnCall) else skill_of(meant.request)) or ""
    verdicts = (_verdict(rules, names, skill) for rules in (operators, conversation.spec.rules))
    return max(verdicts, key=STRICTNESS.index)


def _verdict(rules: Iterable[Rule], names: set[str], skill: str) -> Verdict:
    """Of one source: the last rule that fits decides. A skill is meant in each of its versions."""
    skills = {skill, split(skill)[0]}
    found: Verdict = "allow"
    for rule in rules:
        if _fits(rule.tool, names) and _fits(rule.skill, skills):
            found = rule.verdict
    return found


def _fits(glob: str, names: Iterable[str]) -> bool:
    return any(fnmatchcase(name, glob) for name in names)


def _script_tools(tool: str, request: dict[str, Any], conversation: Conversation) -> set[str]:
    """The tools of its own that stand for the script: who may not call them may not run it by its path either."""
    if tool != RUN_SCRIPT.tool:
        return set()
    skill, path = split(skill_of(request) or "")[0], posixpath.normpath(request["script"])
    own = (one for one in conversation.scripts if one.script and split(one.skill_name)[0] == skill)
    return {one.name for one in own if path in (one.script, posixpath.splitext(posixpath.basename(one.script))[0])}


def denied_by_policy(name: str) -> ToolError:
    return ToolError(
        error="denied_by_policy",
        message=f"The policy of this conversation does not allow this call of {name}.",
        fix="Do not repeat it: go about it in another way, or tell the user what was not allowed.",
    )
