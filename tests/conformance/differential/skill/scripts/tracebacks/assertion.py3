numbers = [1, 2]
assert len(numbers) == 3, f"there are {len(numbers)}"
