import bisect
import functools
import heapq
import itertools
import operator
print(list(itertools.pairwise("abc")), [(k, list(g)) for k, g in itertools.groupby("aabc")], list(itertools.accumulate([1, 2, 3])))
print(heapq.nsmallest(2, [3, 1, 2]), bisect.bisect([1, 2, 2, 3], 2), functools.reduce(operator.mul, range(1, 6)))


@functools.cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


print(fib(50), fib.cache_info())
