import copyreg
import pickle


class Odd:
    def __init__(self, n):
        self.n = n

    def __reduce__(self):
        return Odd, (self.n + 1,)


print(pickle.loads(pickle.dumps(Odd(1))).n, pickle.loads(pickle.dumps({1, 2}, 0)), copyreg.dispatch_table is not None)
pickle.dumps(lambda: 1)
