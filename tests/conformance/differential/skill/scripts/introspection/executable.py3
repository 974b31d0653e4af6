import sys
import sysconfig
print(sys.executable, sys.prefix, sys.base_prefix, sys.exec_prefix, sys.platlibdir)
print(sys.version, sys.implementation.name, sysconfig.get_path("purelib"))
