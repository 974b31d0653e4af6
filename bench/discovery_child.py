"""Does with the library `skillkit` what each line that it is sent names, and answers with the milliseconds.

A program of its own, run as `python discovery_child.py SKILLS BIG MANY` by an interpreter that has the library.
"""

import sys
import time
from pathlib import Path

from skillkit import SkillManager  # type: ignore[import-not-found]
from skillkit.core.scripts import ScriptDetector  # type: ignore[import-not-found]

ROOT, BIG, MANY = sys.argv[1:]


def manager() -> SkillManager:
    made = SkillManager(project_skill_dir=ROOT, anthropic_config_dir="", plugin_dirs=[])
    made.discover()
    return made


resident = manager()
DO = {
    "cold": lambda: manager().list_skills(),
    "warm": lambda: resident.list_skills(),
    "get": lambda: resident.load_skill(BIG).content,
    "scripts": lambda: ScriptDetector().detect_scripts(Path(ROOT, MANY)),
}
for line in sys.stdin:
    start = time.perf_counter()
    found = DO[line.strip()]()
    took = (time.perf_counter() - start) * 1000
    assert found
    print(took, flush=True)
