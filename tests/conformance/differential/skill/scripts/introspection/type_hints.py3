import typing
from dataclasses import dataclass, fields


@dataclass
class Node:
    value: "int"
    parent: "Node | None" = None


def function(node: "Node", names: "list[str]") -> "typing.Optional[Node]": ...


print(typing.get_type_hints(Node), typing.get_type_hints(function))
print([(field.name, field.type) for field in fields(Node)], typing.get_type_hints(Node)["parent"])
