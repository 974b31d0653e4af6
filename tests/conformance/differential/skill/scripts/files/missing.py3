open("data/no-such-file.txt")
