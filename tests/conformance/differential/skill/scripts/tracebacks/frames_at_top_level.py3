import inspect
import sys
print([(frame.function, frame.lineno, frame.code_context) for frame in inspect.stack()])
print(sys._getframe().f_back, sys._getframe().f_code.co_name, sys._getframe().f_globals is globals())
print(inspect.currentframe().f_code.co_filename == __file__, inspect.getsourcefile(sys._getframe()) == __file__)
