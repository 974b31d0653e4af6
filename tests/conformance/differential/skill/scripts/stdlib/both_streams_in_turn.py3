import sys
for number in range(100):
    print("out", number, flush=True)
    print("err", number, file=sys.stderr)
