import cmath
import fractions
import math
import statistics
print(fractions.Fraction(0.75), fractions.Fraction("1/3") + 1, statistics.quantiles(range(10)), statistics.stdev([1, 2, 4]))
print(math.isqrt(10**30), math.comb(40, 20), cmath.sqrt(-4), math.fsum([0.1] * 10), 0.1 + 0.2, round(2.5))
