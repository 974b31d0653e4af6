"""What a call's arguments quote of the results of earlier calls of its conversation."""

from pydantic import BaseModel, ConfigDict


class Quote(BaseModel):
    """`place`: in the arguments, where the value goes; `task_id`: of the attempt (CallRef.task_id) that brought it,
    empty: there is none, and null goes there; `pointer`: to the value in what that has brought (RFC 6901);
    `tool`: what people know by which it was brought."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    place: tuple[str | int, ...]
    task_id: str = ""
    pointer: str = ""
    tool: str = ""
