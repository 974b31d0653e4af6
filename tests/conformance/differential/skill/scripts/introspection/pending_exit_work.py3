import atexit
import gc
import sys
import weakref
print(atexit._ncallbacks(), gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.callbacks, gc.garbage)
print(weakref.getweakrefcount(sys), sys.gettrace())
