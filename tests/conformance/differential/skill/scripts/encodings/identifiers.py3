größe = 3
数 = 4
print(größe * 数, [name for name in dir() if not name.isascii()])
