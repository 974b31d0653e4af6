"""The languages of scripts, told by a file's extension, else by its first line (pure)."""

import re
from typing import Literal, get_args

ScriptType = Literal["python", "shell", "javascript", "ruby", "perl"]

INTERPRETER_MAP = {
    ".py": "python3",
    ".sh": "bash",
    ".js": "node",
    ".rb": "ruby",
    ".pl": "perl",
    ".bat": "cmd",
    ".cmd": "cmd",
    ".ps1": "powershell",
}

# Both are in the same order; what is left over at the end is for hosts that are not supported.
TYPE_BY_EXTENSION: dict[str, ScriptType] = dict(zip(INTERPRETER_MAP, get_args(ScriptType), strict=False))
INTERPRETERS = {kind: INTERPRETER_MAP[extension] for extension, kind in TYPE_BY_EXTENSION.items()}
FOREIGN = INTERPRETER_MAP.keys() - TYPE_BY_EXTENSION.keys()

_SHEBANG = re.compile(r"#!\s*(?:\S*/)?(?:env\s+(?:(?:-\S+|\w+=\S*)\s+)*)?(?:\S*/)?([a-zA-Z]+)")
_SHEBANG_TYPES: dict[str, ScriptType] = {
    "python": "python", "sh": "shell", "bash": "shell", "dash": "shell",
    "node": "javascript", "nodejs": "javascript", "ruby": "ruby", "perl": "perl",
}  # fmt: skip


def type_of_shebang(line: str) -> ScriptType | None:
    match = _SHEBANG.match(line)
    return _SHEBANG_TYPES.get(match[1].lower()) if match else None
