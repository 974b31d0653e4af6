"""What runs the skill without a model: JSON on standard input, JSON on standard output."""

import argparse
import json
import sys

from scripts.units import UnitError, convert


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    asked = json.load(sys.stdin)
    try:
        found = convert(asked["value"], asked["from"], asked["to"])
    except UnitError as error:
        print(f"convert: {error}", file=sys.stderr)
        return 1
    print(json.dumps({"value": float(found), "unit": asked["to"]}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
