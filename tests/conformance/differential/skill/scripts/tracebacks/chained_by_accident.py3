try:
    {}["key"]
except KeyError:
    [][1]
