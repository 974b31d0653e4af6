import measures
import statistics
print(statistics.mean([1, 2]), "mean" in dir(statistics), statistics.__file__.endswith("statistics.py"))
import colorsys
print(colorsys.__file__, getattr(colorsys, "OURS", None))
