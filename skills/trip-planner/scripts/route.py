"""The shortest way between two towns, told by the NDJSON tool protocol."""

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


def tell(event: str, **fields: object) -> None:
    print(json.dumps({"version": "0", "type": event, **fields}), flush=True)


def shortest(begin: str, end: str) -> tuple[int, list[str]] | None:
    ahead = [(0, [begin])]
    seen = set()
    while ahead:
        km, way = heapq.heappop(ahead)
        if way[-1] == end:
            return km, way
        if way[-1] in seen:
            continue
        seen.add(way[-1])
        for (one, other), length in ROADS.items():
            if way[-1] in (one, other):
                heapq.heappush(ahead, (km + length, [*way, other if way[-1] == one else one]))
    return None


asked = json.load(sys.stdin)["input"]
found = shortest(asked["from"], asked["to"])
if found is None:
    tell("error", errorCode="no_way", errorMessage=f"no road leads from {asked['from']} to {asked['to']}")
    tell("done", ok=False, summary=f"there is no way from {asked['from']} to {asked['to']}")
else:
    tell("log", level="info", message=f"{found[0]} km by way of {len(found[1]) - 2} towns")
    tell("state_patch", patch={"trip": {"towns": found[1], "km": found[0]}})
    tell("done", ok=True, summary=" - ".join(found[1]))
