"""The subagents of a conversation that is followed, by the names that its model gave them."""

import json
import re
from typing import Any

from ..events import Entry


class AgentNames:
    def __init__(self) -> None:
        self._turn = 0
        self._by_call: dict[str, str] = {}
        self._by_id: dict[str, str] = {}

    def see(self, entry: Entry) -> None:
        match entry.type:
            case "turn":
                self._turn = entry.data["turn"]
            case "message":
                for index, call in enumerate(entry.data.get("tool_calls") or ()):
                    self._by_call[f"{self._turn}.{index}"] = _name(call)
            case "child":
                self._begun(entry.data["key"], entry.data["child"])

    def of(self, agent_id: str) -> str:
        """Empty: it has none."""
        return self._by_id.get(agent_id, "")

    def in_words(self, text: str) -> str:
        """With names in the places of the ids that have some."""
        if not self._by_id:
            return text
        longest_first = sorted(self._by_id, key=len, reverse=True)
        ids = re.compile(f"({'|'.join(map(re.escape, longest_first))})(?![-\\w])")
        return ids.sub(lambda found: self._by_id[found[1]], text)

    def _begun(self, key: str, agent_id: str) -> None:
        name = self._by_call.get(key)
        if name and agent_id not in self._by_id:
            self._by_id[agent_id] = f"{name} ({key})" if name in self._by_id.values() else name


def _name(call: dict[str, Any]) -> str:
    """Of whom it begins: the one that the model gave, else the skill's."""
    try:
        asked = json.loads(call["function"]["arguments"])
    except (KeyError, TypeError, ValueError, RecursionError):
        return ""
    name = (asked.get("name") or asked.get("skill")) if isinstance(asked, dict) else ""
    return name if isinstance(name, str) else ""
