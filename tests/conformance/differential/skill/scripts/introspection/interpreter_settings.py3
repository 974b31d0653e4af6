import sys
print(sys.getrecursionlimit(), sys.getswitchinterval(), sys.getdefaultencoding(), sys.getfilesystemencoding())
print(sys.getfilesystemencodeerrors(), sys.byteorder, sys.maxsize, sys.int_info, sys.get_int_max_str_digits())
print(sys.tracebacklimit if hasattr(sys, "tracebacklimit") else None, sys.get_asyncgen_hooks(), hasattr(sys, "ps1"))
