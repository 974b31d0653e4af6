name = input("name? ")
