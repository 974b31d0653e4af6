"""Which workers take the calls of a skill (pure)."""

import hashlib
import json
from dataclasses import asdict

from ..wire.published import NEEDS
from .models import Requirements, Skill

HASH_CHARS = 8


def route_of(skill: Skill) -> str:
    """The queue that it asks for; else one that skills with the same demands of a host share; empty: any worker's.

    Configuration that it demands is one of them: each machine adds its own.
    """
    if skill.queue:
        return skill.queue
    if skill.always or skill.requires == Requirements():
        return ""
    # What is not demanded is left out: a later release may know more to demand, and must come to the same.
    demands = {what: sorted(set(names)) for what, names in asdict(skill.requires).items() if names}
    text = json.dumps(demands, sort_keys=True, separators=(",", ":"))
    return NEEDS + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_CHARS]
