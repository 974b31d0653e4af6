def function(:
    pass
