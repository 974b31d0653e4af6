import calendar
import pprint
import textwrap
print(calendar.month(2024, 2), calendar.isleap(1900))
print(textwrap.fill("the quick brown fox jumps " * 3, 30, initial_indent="* ", subsequent_indent="  "))
pprint.pprint({"b": list(range(30)), "a": {"nested": ["x" * 30, "y" * 30]}}, width=60)
