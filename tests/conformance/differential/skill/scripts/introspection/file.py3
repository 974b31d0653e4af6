import os
import sys
print(__file__, os.path.isabs(__file__), os.path.isfile(__file__))
print(sys.argv, sys.argv[0] == __file__, sys.path[0] == os.path.dirname(__file__))
