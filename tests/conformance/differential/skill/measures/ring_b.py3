from . import ring_a

value = hasattr(ring_a, "value")
