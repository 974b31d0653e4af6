# stdin: "Ada\n36\n"
name = input("name? ")
print(f"hello {name}, {int(input())}")
try:
    input()
except EOFError as end:
    print(repr(end))
