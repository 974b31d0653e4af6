import atexit
atexit.register(print, "registered first, said last")
atexit.register(print, "registered last, said first")
gone = atexit.register(lambda: print("unregistered"))
atexit.unregister(gone)
print("main ends")
