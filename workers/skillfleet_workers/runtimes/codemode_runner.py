"""Runs a model's code over data: a program of its own, for any Python from 3.9 on, with the standard library alone.

On standard input: one line of JSON that tells the code and what it may do, then the data as JSON texts of the lengths
that the line tells. What the code prints is the standard output; at its end, after a line that starts with the token,
stands the result. What is refused here is refused to be clear: the sandbox around this program is what holds.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

CODE = "<code>"
LAST = "<last>"
"""The name that the value of the last line's expression is kept under: no code can spell it."""

RESULT = "result"
REFUSED = ("breakpoint", "compile", "eval", "exec", "exit", "help", "input", "open", "quit")
NEEDED = ("__build_class__", "__debug__")
BEHIND_C = ("_pylong", "_strptime", "copyreg", "time", "unicodedata")
"""What functions written in C import in the name of their caller, such as datetime's strptime."""


def evaluate(code: str, variables: Mapping[str, object], names: Mapping[str, object]) -> tuple[object, ...]:
    """What was assigned to `result`, else the value of the expression in the last line; empty: there is neither.

    `names` are its builtins. Raises whatever the code raises, and what is wrong with its syntax.
    """
    tree = ast.parse(code, CODE)
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = tree.body[-1]
        tree.body[-1] = ast.copy_location(ast.Assign([ast.Name(LAST, ast.Store())], last.value), last)
        ast.fix_missing_locations(tree)
    known: dict[str, Any] = {"__name__": "__main__", "__builtins__": dict(names), **variables}
    exec(compile(tree, CODE, "exec", dont_inherit=True), known)
    if RESULT in known:
        return (known[RESULT],)
    return () if known.get(LAST) is None else (known[LAST],)


def safe_builtins(imports: Iterable[str]) -> dict[str, object]:
    """All but those that reach files, other code or a terminal, and an import of the named modules alone."""
    plain = {name: value for name, value in vars(builtins).items() if not name.startswith("_") or name in NEEDED}
    return {**plain, **{name: _refusing(name) for name in REFUSED}, "__import__": _importer(tuple(imports))}


def _refusing(name: str) -> Callable[..., None]:
    def refused(*_: object, **__: object) -> None:
        raise NameError(f"{name}() is not available to this code: work on the data that it is given")

    return refused


def _importer(allowed: tuple[str, ...]) -> Callable[..., object]:
    def is_allowed(name: str) -> bool:
        return any(name == one or name.startswith(f"{one}.") for one in allowed)

    def restricted(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> object:
        from_c = isinstance(fromlist, list) and name in BEHIND_C
        wanted = [name] if is_allowed(name) or not fromlist else [f"{name}.{part}" for part in fromlist]
        refused = [one for one in wanted if level or not (is_allowed(one) or from_c)]
        if refused:
            raise ImportError(f"{refused[0]} may not be imported; allowed: {', '.join(allowed)}")
        return __import__(name, globals, locals, fromlist, level)

    return restricted


def told(error: BaseException, code: str) -> str:
    """The traceback with the code's own frames alone."""
    about = traceback.TracebackException(type(error), error, error.__traceback__, lookup_lines=False)
    lines = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for one in _chain(about):
        one.stack = traceback.StackSummary.from_list(
            [_frame(frame, lines) for frame in one.stack if frame.filename == CODE]
        )
    whole = about.stack or about.__cause__ or about.__context__
    return "".join(about.format() if whole else about.format_exception_only())


def _chain(about: traceback.TracebackException) -> Iterator[traceback.TracebackException]:
    todo = [about]
    while todo:
        one = todo.pop()
        yield one
        todo += [other for other in (one.__cause__, one.__context__) if other]
        todo += getattr(one, "exceptions", None) or []


def _frame(frame: traceback.FrameSummary, lines: list[str]) -> traceback.FrameSummary:
    number = frame.lineno or 0
    line = lines[number - 1] if 0 < number <= len(lines) else ""
    return traceback.FrameSummary(CODE, number, frame.name, line=line)


def as_json(value: object) -> str:
    """Raises: TypeError: it is no JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as wrong:
        raise TypeError(f"the result is no JSON: {wrong}; make it of dicts, lists, texts and numbers") from None


def filled(value: Any, names: Iterable[str]) -> Any:
    """`value`, where a text in it that is `${NAME}` and no more becomes that variable (None: it is not set)."""
    if isinstance(value, dict):
        return {key: filled(inner, names) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, names) for inner in value]
    if isinstance(value, str) and value[:2] == "${" and value[2:-1] in names and value[-1] == "}":
        return os.environ.get(value[2:-1])
    return value


def main() -> None:
    asked = json.loads(sys.stdin.buffer.readline())
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    variables = {name: _data(name, **about) for name, about in asked["data"].items()}
    try:
        found = evaluate(asked["code"], variables, safe_builtins(asked["imports"]))
        answer = as_json(found[0]) if found else None
    except SystemExit:
        raise
    except BaseException as wrong:  # noqa: BLE001  the code may raise anything
        sys.exit(told(wrong, asked["code"]).rstrip("\n"))
    if answer is not None:
        _hand_back(answer.encode("utf-8", "replace"), asked["token"], asked["limit"])


def _data(name: str, length: int, source: str, variables: list[str]) -> Any:
    try:
        return filled(json.loads(sys.stdin.buffer.read(length)), variables)
    except (ValueError, RecursionError) as wrong:
        sys.exit(f"{name}: {source} is no JSON: {wrong}")


def _hand_back(answer: bytes, token: str, limit: int) -> None:
    """A result that is too long is a text that shows its beginning."""
    cut = len(answer) > limit
    value = as_json(answer[:limit].decode("utf-8", "ignore")).encode() if cut else answer
    head = json.dumps({"truncated": cut, "bytes": len(answer)})[:-1]
    sys.stdout.flush()
    sys.stdout.buffer.write(f'\n{token}{head}, "value": '.encode() + value + b"}\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
