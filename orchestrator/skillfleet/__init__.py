"""The conversation side of SkillFleet: holds the model's keys, never runs skill code."""

from importlib import import_module
from importlib.metadata import version

__version__ = version("skillfleet")

__all__ = ["Fleet", "__version__"]


def __getattr__(name: str) -> object:
    # `from skillfleet import Fleet` must not make `skillfleet --version` pay for redis and Celery.
    if name == "Fleet":
        return import_module("skillfleet.fleet").Fleet
    raise AttributeError(name)
