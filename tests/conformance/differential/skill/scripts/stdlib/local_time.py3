import os
import time
print(time.tzname, time.timezone, time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(0)))
os.environ["TZ"] = "EST5EDT,M3.2.0,M11.1.0"
time.tzset()
print(time.tzname, time.timezone, time.localtime(1720000000).tm_hour)
