import sys
try:
    try:
        sys.exit(3)
    finally:
        print("inner")
finally:
    print("outer")
