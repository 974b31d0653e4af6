try:
    {}["key"]
except KeyError:
    raise ValueError("alone") from None
