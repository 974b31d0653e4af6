# as: file
import sys
if __name__ == "__main__":
    import import_of_itself_by_name as again
    print(again.__name__, again is sys.modules["__main__"], again.value)
value = 1
