def fails():
    raise RuntimeError("on import")


fails()
