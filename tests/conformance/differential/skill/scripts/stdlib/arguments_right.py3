# argv: ["-vv", "--name=ä b", "one", "--", "-x"]
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("-v", action="count")
parser.add_argument("--name")
parser.add_argument("rest", nargs="+")
print(parser.parse_args(), parser.prog)
