import math
math.squrt(2)
