import sys
main = sys.modules["__main__"]
print(main.__dict__ is globals(), main, main.__file__ == __file__, type(main).__name__)
value = 5
import __main__
print(__main__ is main, __main__.value, hasattr(main, "__path__"))
