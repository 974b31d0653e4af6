"""The execution side of SkillFleet: mounts the skills folder, runs scripts, never sees a model key."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING

__all__ = ["BashRuntime", "CodeModeRuntime", "SkillManager", "__version__"]

__version__ = version("skillfleet")

_HOMES = {
    "BashRuntime": ".runtimes.bash",
    "CodeModeRuntime": ".runtimes.codemode",
    "SkillManager": ".execution_api",
}

if TYPE_CHECKING:
    from .execution_api import SkillManager
    from .runtimes.bash import BashRuntime
    from .runtimes.codemode import CodeModeRuntime
else:

    def __getattr__(name: str) -> object:
        # Found when it is asked for: who imports only the wire need not load all that runs scripts.
        if name in _HOMES:
            return getattr(import_module(_HOMES[name], __name__), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
