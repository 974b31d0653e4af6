import warnings


def old():
    warnings.warn("is old", DeprecationWarning, stacklevel=2)


old()
warnings.warn("at top level")
warnings.warn("at top level, beyond the stack", stacklevel=3)
for _ in range(2):
    warnings.warn("said once a line", RuntimeWarning)
warnings.warn_explicit("explicit", UserWarning, "elsewhere.py", 3)
