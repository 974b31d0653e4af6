def told(it):
    match it:
        case {"kind": "point", "at": [x, y]} if x == y:
            return f"diagonal {x}"
        case [first, *_, last]:
            return first, last
        case int() | float() as number:
            return -number
        case _:
            return None


print(told({"kind": "point", "at": [1, 1]}), told([1, 2, 3]), told(2.5), told("x"))
