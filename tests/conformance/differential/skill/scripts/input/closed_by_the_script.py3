# stdin: "never read"
import sys
sys.stdin.close()
try:
    sys.stdin.read()
except ValueError as closed:
    print(closed)
