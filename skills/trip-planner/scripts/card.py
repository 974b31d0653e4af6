"""Draws the card of a trip, and hands it back as an asset."""

import json
import os
import sys
from html import escape
from pathlib import Path


def tell(event: str, **fields: object) -> None:
    print(json.dumps({"version": "0", "type": event, **fields}), flush=True)


asked = json.load(sys.stdin)["input"]
weather = asked["weather"]
lines = [" - ".join(asked["towns"]), f"{asked['km']} km"]
lines.append(f"{weather['sky']}, {weather['celsius']} °C" if weather else "weather unknown")
rows = "".join(f'<text x="16" y="{32 + 28 * row}">{escape(line)}</text>' for row, line in enumerate(lines))
card = Path(os.environ["SKILLFLEET_OUTPUT_DIR"], "card.svg")
card.write_text(
    f'<svg xmlns="http://www.w3.org/2000/svg" width="420" height="120" font-family="sans-serif">{rows}</svg>\n'
)
tell("asset", assetId="card", kind="image", mediaType="image/svg+xml", path="card.svg")
tell("state_patch", patch={"trip": {"card": "card.svg"}})
tell("done", ok=True)
