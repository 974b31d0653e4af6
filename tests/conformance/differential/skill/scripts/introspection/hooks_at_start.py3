import sys
print(sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__)
print(sys.unraisablehook is sys.__unraisablehook__, sys.breakpointhook is sys.__breakpointhook__)
print([getattr(finder, "__name__", type(finder).__name__) for finder in sys.meta_path])
print([type(hook).__name__ for hook in sys.path_hooks], sys.getallocatedblocks() > 0)
