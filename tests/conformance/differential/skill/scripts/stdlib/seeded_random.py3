import random
import uuid
random.seed(42)
print(random.random(), random.sample(range(100), 5), random.gauss(0, 1), random.choices("abc", k=5))
print(random.Random("text").randrange(10**12), uuid.uuid5(uuid.NAMESPACE_DNS, "example.org"))
random.shuffle(letters := list("abcdef"))
print(letters)
