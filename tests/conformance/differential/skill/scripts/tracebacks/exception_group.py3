def failing(wrong):
    try:
        raise wrong
    except Exception as caught:
        return caught


raise ExceptionGroup("several", [failing(ValueError(1)), ExceptionGroup("deeper", [failing(TypeError("two"))])])
