import os
import time
print(os.umask(0o22) == 0o22, os.nice(0), os.getpid() > 1, os.getsid(0) > 0, os.sched_getscheduler(0))
print(time.process_time() < 60, len(os.listdir("/proc/self/task")), os.getenv("SKILL_NAME"))
