"""The conversation side of SkillFleet: holds the model's keys, never runs skill code."""

from importlib import import_module

__all__ = ["Fleet", "__version__"]


def __getattr__(name: str) -> object:
    # `from skillfleet import Fleet` must not make `skillfleet --version` pay for redis and Celery; and the
    # command line catches Ctrl-C only once this package is imported.
    if name == "Fleet":
        return import_module("skillfleet.fleet").Fleet
    if name == "__version__":
        return import_module("importlib.metadata").version("skillfleet")
    raise AttributeError(name)
