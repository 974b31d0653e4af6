numbers = [1, 2,
print("never closed"
