class Noisy:
    def __del__(self):
        raise ValueError("in __del__")


noisy = Noisy()
del noisy
print("goes on")
