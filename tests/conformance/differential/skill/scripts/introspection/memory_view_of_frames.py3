import gc
import sys
names = {code.f_code.co_filename for code in gc.get_objects() if type(code).__name__ == "frame"}
print(names <= {__file__}, sys._getframe().f_lineno)
