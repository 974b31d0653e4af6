print("80%")
