"""What a provider has refused in a request, and is asked without (pure)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Self

from .attachments import without_images
from .base import ModelRequest
from .failures import BAD_REQUEST, Failure


@dataclass(frozen=True, slots=True)
class Without:
    """`extras`: what old servers of a wire format do not know (ModelRequest.plain)."""

    images: bool = False
    schema: bool = False
    extras: bool = False

    def plus(self, other: "Without") -> Self:
        return replace(self, **dict.fromkeys(other.names, True))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in fields(self) if getattr(self, each.name))

    def of(self, request: ModelRequest) -> ModelRequest:
        """The request without it; images become a line of text each."""
        return replace(
            request,
            messages=without_images(request.messages) if self.images else request.messages,
            schema=None if self.schema else request.schema,
            plain=request.plain or self.extras,
        )


NOTHING = Without()

_NAMED: Mapping[str, re.Pattern[str]] = {
    "images": re.compile(r"image|vision|multi-?modal|content.{0,40}(string|type|part)", re.IGNORECASE),
    "schema": re.compile(r"response_format|json_schema|output_(config|format)|schema|structured", re.IGNORECASE),
    "extras": re.compile(r"stream_options|include_usage|max_completion_tokens", re.IGNORECASE),
}


def images_of(request: ModelRequest) -> frozenset[str]:
    """Their digests."""
    files = (file for message in request.messages for file in message.attachments or ())
    return frozenset(file.digest for file in files if file.is_image)


def refused_of(request: ModelRequest, failure: Failure) -> Without | None:
    """What of the request the provider may have refused; None: nothing that it could be asked without. What its
    sentence names, else whatever it may be."""
    if failure.problem.code != BAD_REQUEST:
        return None
    there = {
        "images": bool(images_of(request)),
        "schema": request.schema is not None,
        "extras": not request.plain,
    }
    named = {name for name in there if there[name] and _NAMED[name].search(failure.problem.message)}
    names = named or {name for name in ("images", "schema") if there[name]}
    return Without(**dict.fromkeys(names, True)) if names else None
