from datetime import UTC, date, datetime, timedelta, timezone
moment = datetime(2024, 2, 29, 23, 59, 59, 999999, tzinfo=UTC)
print(moment.isoformat(), moment + timedelta(days=366), moment.astimezone(timezone(timedelta(hours=5, minutes=30))))
print(date.fromisocalendar(2020, 53, 7), moment.strftime("%A %d %B %Y %j %U"), datetime.fromtimestamp(0, UTC))
datetime(2023, 2, 29)
