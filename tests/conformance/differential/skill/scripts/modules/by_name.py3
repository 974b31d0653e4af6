import importlib
import importlib.util
import sys
print(importlib.import_module("measures.volumes").__name__, importlib.util.find_spec("no_such_module"))
del sys.modules["measures"]
import measures
print(measures.area(1, 2), importlib.util.find_spec("measures").origin == measures.__file__)
