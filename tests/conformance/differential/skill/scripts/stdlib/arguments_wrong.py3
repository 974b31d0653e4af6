# argv: ["--level", "3"]
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--level", type=int, choices=[1, 2])
parser.parse_args()
