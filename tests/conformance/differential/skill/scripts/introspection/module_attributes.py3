import __main__
__main__.added = 1
print(added, vars()["added"], "added" in dir())
del __main__.added
print("added" in globals())
