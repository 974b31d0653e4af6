try:
    {}["key"]
except KeyError as missing:
    raise ValueError("no such key") from missing
