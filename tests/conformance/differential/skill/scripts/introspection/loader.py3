print(type(__loader__).__name__, __loader__.name, __loader__.path == __file__)
print(__loader__.get_source("__main__") == open(__file__, encoding="utf-8").read())
print(__loader__.is_package("__main__"), type(__builtins__).__name__, __builtins__.__name__)
