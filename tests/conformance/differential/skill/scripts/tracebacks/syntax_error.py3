print("never said")
if True
    print("no colon")
