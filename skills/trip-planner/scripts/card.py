"""Draw the card of a trip, and hand it back as an asset, by the NDJSON tool protocol."""

import argparse
import json
import os
import sys
from html import escape
from pathlib import Path


def card(towns: list[str], km: int, weather: dict[str, object] | None) -> str:
    """As SVG."""
    lines = [
        " - ".join(towns),
        f"{km} km",
        f"{weather['sky']}, {weather['celsius']} °C" if weather else "any weather",
    ]
    rows = "".join(f'<text x="16" y="{32 + 28 * row}">{escape(line)}</text>' for row, line in enumerate(lines))
    size = 'width="420" height="120"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif">{rows}</svg>\n'


def tell(event: str, **fields: object) -> None:
    print(json.dumps({"version": "0", "type": event, **fields}), flush=True)


def main() -> None:
    argparse.ArgumentParser(description=f"{__doc__} Reads the request from standard input.").parse_args()
    asked = json.load(sys.stdin)["input"]
    file = Path(os.environ["SKILLFLEET_OUTPUT_DIR"], "card.svg")
    file.write_text(card(asked["towns"], asked["km"], asked["weather"]))
    tell("asset", assetId="card", kind="image", mediaType="image/svg+xml", path=file.name)
    tell("state_patch", patch={"trip": {"card": file.name}})
    tell("done", ok=True)


if __name__ == "__main__":
    main()
