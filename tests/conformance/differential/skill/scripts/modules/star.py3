from measures import *
print(area(3, 3), "SHAPES" in globals(), "volumes" in globals())
