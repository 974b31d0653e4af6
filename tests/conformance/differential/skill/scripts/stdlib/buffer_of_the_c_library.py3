import ctypes
ctypes.CDLL(None).printf(b"written by the C library's own buffer\n")
print("written by python's buffer")
