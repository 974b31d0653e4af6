import cProfile
import pstats
import io
import timeit


def work():
    return sum(range(100))


profile = cProfile.Profile()
profile.runcall(work)
out = io.StringIO()
pstats.Stats(profile, stream=out).print_stats("work")
print("(work)" in out.getvalue(), timeit.timeit("1", number=10) >= 0)
