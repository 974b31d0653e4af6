"""The script's own docstring."""
print(__doc__)
__annotations__["set"] = int
value: str = "x"
print(__annotations__)
