from datetime import datetime
from zoneinfo import ZoneInfo
try:
    zone = ZoneInfo("Europe/Paris")
except KeyError as missing:
    print(missing)
else:
    print([datetime(2024, month, 1, tzinfo=zone).utcoffset() for month in (1, 7)])
ZoneInfo("Nowhere/Atlantis")
