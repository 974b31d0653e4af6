import os
os.close(2)
print("to stdout")
raise ValueError("nobody hears")
