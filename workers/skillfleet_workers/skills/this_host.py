"""The machine that this worker runs on, as skills see it."""

import os
import shutil
import sys

from .eligibility import Host
from .filters import installed_filters


def this_host(script_path: str, queues: frozenset[str] = frozenset()) -> Host:
    """`script_path`: where scripts find programs, whatever the worker itself finds."""
    return Host(
        which=lambda program: shutil.which(program, path=script_path),
        environ=os.environ,
        platform=sys.platform,
        queues=queues,
        filters=installed_filters(),
    )
