def numbers():
    yield 1
    raise StopIteration("inside")


for number in numbers():
    print(number)
