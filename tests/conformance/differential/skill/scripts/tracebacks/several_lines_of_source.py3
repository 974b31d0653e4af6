def total(*numbers):
    return sum(numbers)


print(
    total(
        1,
        2,
        "three",
    )
)
