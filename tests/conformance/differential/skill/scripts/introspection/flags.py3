import sys
print(sys.flags)
print(sys.warnoptions, sys._xoptions, sys.dont_write_bytecode, sys.pycache_prefix, sys.flags.safe_path)
