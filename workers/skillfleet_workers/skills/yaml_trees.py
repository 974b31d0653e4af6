"""YAML read so that nothing is lost: every scalar as the author wrote it, and the line of every key (pure)."""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

# Every scalar stays the text that the author wrote, as in the format's reference reader: no surprise dates,
# numbers or booleans, and no constructor that a strange value could break.
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

MAX_DEPTH = 50
"""The C loader overflows the stack of the whole process on some ten thousand nested brackets."""

MAX_VALUES = 2_000
"""Aliases make small documents that are endless when they are written out."""

KeyPath = tuple[str, ...]

_INTEGER = re.compile(r"[-+]?[0-9]{1,300}")
_BASED = re.compile(r"0o[0-7]{1,100}|0x[0-9a-fA-F]{1,100}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_CONSTANTS = {
    word: value
    for words, value in ((("", "~", "null"), None), (("true",), True), (("false",), False))
    for text in words
    for word in (text, text.capitalize(), text.upper())
}


class TooManyValuesError(ValueError):
    """It has more than MAX_VALUES values, or goes deeper than MAX_DEPTH."""


@dataclass(frozen=True, slots=True)
class YamlTree:
    """A document: `value` with every scalar as a text. `first_line`: of its file, at which it begins."""

    value: Any = None
    first_line: int = 1
    root: yaml.Node | None = field(default=None, repr=False)

    def line_of(self, path: KeyPath) -> int | None:
        """Of the key; None: it is not there."""
        node, line = self.root, None
        for name in path:
            key, node = _entry(node, name)
            if key is None:
                return None
            line = key.start_mark.line + self.first_line
        return line

    def typed(self, path: KeyPath = ()) -> Any:
        """The value by the core rules of YAML 1.2: with numbers, booleans and null.

        Raises:
            TooManyValuesError
        """
        node = self.root
        for name in path:
            _, node = _entry(node, name)
        return None if node is None else _Typing().of(node)


def yaml_tree(text: str, first_line: int = 1) -> YamlTree:
    """Raises: yaml.YAMLError"""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise yaml.YAMLError(f"nested more than {MAX_DEPTH} deep")
    loader = _LOADER(text)
    try:
        root = loader.get_single_node()
        return YamlTree() if root is None else YamlTree(loader.construct_document(root), first_line, root)
    finally:
        loader.dispose()


def _entry(node: yaml.Node | None, name: str) -> tuple[yaml.Node | None, yaml.Node | None]:
    """The last of this name, as it is the last that counts."""
    entries = node.value if isinstance(node, yaml.MappingNode) else ()
    found = [(key, value) for key, value in entries if isinstance(key, yaml.ScalarNode) and key.value == name]
    return found[-1] if found else (None, None)


class _Typing:
    def __init__(self) -> None:
        self._left = MAX_VALUES

    def of(self, node: yaml.Node, levels: int = MAX_DEPTH) -> Any:
        self._left -= 1
        if self._left < 0:
            raise TooManyValuesError(f"it has more than {MAX_VALUES} values")
        if levels < 0:  # aliases make a document deeper than its text is
            raise TooManyValuesError(f"it is nested more than {MAX_DEPTH} deep")
        if isinstance(node, yaml.MappingNode):
            return {str(key.value): self.of(value, levels - 1) for key, value in node.value}
        if isinstance(node, yaml.SequenceNode):
            return [self.of(item, levels - 1) for item in node.value]
        quoted = isinstance(node, yaml.ScalarNode) and node.style
        return node.value if quoted else _scalar(node.value)


def _scalar(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if _BASED.fullmatch(text):
        return int(text, 0)
    return float(text) if _FLOAT.fullmatch(text) else text
