import gc


class Cycle:
    def __init__(self):
        self.me = self

    def __del__(self):
        made.append(1)


made = []
gc.disable()
for _ in range(10):
    Cycle()
print(len(made), gc.isenabled())
gc.collect()
print(len(made), gc.is_tracked([]), gc.is_tracked(1))
gc.enable()
for _ in range(20_000):
    Cycle()
print(len(made) > 1000)
