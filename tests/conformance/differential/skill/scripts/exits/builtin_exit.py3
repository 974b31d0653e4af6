print("before")
exit(4)
