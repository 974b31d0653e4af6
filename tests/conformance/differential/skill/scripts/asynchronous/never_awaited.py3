async def forgotten():
    pass


forgotten()
print("after")
