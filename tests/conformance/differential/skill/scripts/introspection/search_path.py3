import sys
print(*sys.path, sep="\n")
