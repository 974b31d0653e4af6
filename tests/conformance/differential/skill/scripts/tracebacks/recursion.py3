def down(depth):
    return down(depth + 1)


down(0)
