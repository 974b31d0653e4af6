"""Stays resident and runs one script of a skill with the library `skillkit`, once for each line that it is sent.

A program of its own, run as `python skillkit_child.py SKILLS SKILL SCRIPT` by an interpreter that has the library.
"""

import sys

from skillkit import SkillManager  # type: ignore[import-not-found]

manager = SkillManager(project_skill_dir=sys.argv[1], anthropic_config_dir="", plugin_dirs=[])
manager.discover()
print("ready", flush=True)
for _ in sys.stdin:
    print(manager.execute_skill_script(sys.argv[2], sys.argv[3], {}).stdout.strip(), flush=True)
