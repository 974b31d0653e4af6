import sys
for number in range(20_000):
    print(number, "x" * 40)
sys.stderr.write("e" * 300_000)
