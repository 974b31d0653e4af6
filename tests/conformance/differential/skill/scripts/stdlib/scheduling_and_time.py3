import sched
import time
scheduler = sched.scheduler(time.monotonic, time.sleep)
scheduler.enter(0.02, 1, print, ("second",))
scheduler.enter(0.01, 1, print, ("first",))
scheduler.run()
print(time.get_clock_info("monotonic").adjustable, time.gmtime(0).tm_year, time.perf_counter() > 0)
