# argv: ["--help"]
import argparse
parser = argparse.ArgumentParser(description="What it does.", epilog="See also.")
parser.add_argument("files", nargs="*", help="what to read")
parser.add_argument("--level", type=int, choices=[1, 2], default=1, metavar="N", help="(default: %(default)s)")
commands = parser.add_subparsers(dest="command")
commands.add_parser("go", help="go on")
parser.parse_args()
