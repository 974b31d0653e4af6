import re
pattern = re.compile(r"(?P<year>\d{4})-(?P<month>\d\d)(?#comment)", re.ASCII)
print(pattern.sub(lambda match: f"{match['month']}/{match['year']}", "on 2024-05 and 1999-12"), pattern)
print(re.split(r"(\W)", "a,b;c"), re.findall(r"(?i)straße", "STRASSE straße"), re.match("a(b)?", "a").groups())
re.compile("(unclosed")
