"""The execution side of SkillFleet: mounts the skills folder, runs scripts, never sees a model key."""

from importlib.metadata import version

__version__ = version("skillfleet")
