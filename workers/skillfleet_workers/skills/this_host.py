"""The machine that this worker runs on, as skills see it."""

import os
import shutil
import sys

from .eligibility import Host
from .filters import installed_filters


def this_host(script_path: str, queues: frozenset[str] = frozenset()) -> Host:
    """`script_path`: where scripts find programs; the worker's own PATH is looked through after it."""
    path = os.pathsep.join(filter(None, (script_path, os.environ.get("PATH"))))
    return Host(
        which=lambda program: shutil.which(program, path=path),
        environ=os.environ,
        platform=sys.platform,
        queues=queues,
        filters=installed_filters(),
    )
