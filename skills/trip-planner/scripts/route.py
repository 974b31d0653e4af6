"""Tell the shortest way between two towns, by the NDJSON tool protocol."""

import argparse
import heapq
import json
import sys

ROADS = {
    ("Ahlen", "Beckum"): 11,
    ("Beckum", "Coesfeld"): 61,
    ("Ahlen", "Emsdetten"): 58,
    ("Coesfeld", "Dorsten"): 36,
    ("Coesfeld", "Emsdetten"): 35,
}
"""Kilometres."""


def shortest(begin: str, end: str) -> tuple[int, list[str]] | None:
    """Its length and its towns; None: no road leads there."""
    ahead = [(0, [begin])]
    seen = set()
    while ahead:
        km, way = heapq.heappop(ahead)
        town = way[-1]
        if town == end:
            return km, way
        if town in seen:
            continue
        seen.add(town)
        for ends, length in ROADS.items():
            if town in ends:
                other = ends[1] if town == ends[0] else ends[0]
                heapq.heappush(ahead, (km + length, [*way, other]))
    return None


def tell(event: str, **fields: object) -> None:
    print(json.dumps({"version": "0", "type": event, **fields}), flush=True)


def main() -> None:
    argparse.ArgumentParser(description=f"{__doc__} Reads the request from standard input.").parse_args()
    asked = json.load(sys.stdin)["input"]
    found = shortest(asked["from"], asked["to"])
    if found is None:
        why = f"no road leads from {asked['from']} to {asked['to']}"
        tell("error", errorCode="no_way", errorMessage=why)
        tell("done", ok=False, summary=why)
        return
    km, towns = found
    tell("log", level="info", message=f"{km} km by way of {len(towns) - 2} towns")
    tell("state_patch", patch={"trip": {"towns": towns, "km": km}})
    tell("done", ok=True, summary=" - ".join(towns))


if __name__ == "__main__":
    main()
