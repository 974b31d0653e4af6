import gc
import weakref


class Thing:
    pass


thing = Thing()
weakref.finalize(thing, print, "finalised")
reference, mapping = weakref.ref(thing, lambda _: print("callback")), weakref.WeakValueDictionary(thing=thing)
thing.itself = thing
del thing
print(reference() is None)
print(gc.collect() > 0, reference(), dict(mapping))
last = Thing()
weakref.finalize(last, print, "finalised at exit")
