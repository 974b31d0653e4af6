from . import ring_b

value = 1
