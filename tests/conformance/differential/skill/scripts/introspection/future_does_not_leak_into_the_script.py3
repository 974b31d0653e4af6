def function(a: int) -> str: ...


print(function.__annotations__, compile("1", "x", "eval").co_flags, (lambda: 0).__code__.co_flags)
