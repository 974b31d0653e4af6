import sys
print("printed")
sys.stdout.close()
