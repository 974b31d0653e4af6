import os
print(dict(sorted(os.environ.items())))
os.environ["ADDED"] = "x"
os.putenv("HIDDEN", "y")
print(os.environ.get("ADDED"), "HIDDEN" in os.environ, os.environb[b"ADDED"])
