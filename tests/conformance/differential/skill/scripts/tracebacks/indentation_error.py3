def function():
    first = 1
      second = 2
