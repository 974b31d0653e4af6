# as: file
# -*- coding: latin-1 -*-
print(ascii("snow"), __loader__.get_source("__main__").count("\n"))
