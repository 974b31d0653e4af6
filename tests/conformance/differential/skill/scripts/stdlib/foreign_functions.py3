import ctypes
libc = ctypes.CDLL(None, use_errno=True)


class Pair(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_char * 4)]


compare = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
numbers = (ctypes.c_int * 4)(3, 1, 4, 2)
libc.qsort(numbers, 4, 4, compare(lambda a, b: a[0] - b[0]))
print(list(numbers), ctypes.sizeof(Pair), Pair(1, b"ab").b, libc.abs(-5))
libc.puts(b"from the C library")
libc.fflush(None)
libc.close(-1)
print(ctypes.get_errno())
