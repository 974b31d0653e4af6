import os
print(os.open(os.devnull, os.O_RDONLY), os.get_inheritable(0), os.get_inheritable(3))
copy = os.dup(1)
os.write(copy, b"through a copy\n")
with open(1, "w", closefd=False) as again:
    print("through another object", file=again)
print(os.fstat(0).st_nlink >= 0, os.isatty(1))
