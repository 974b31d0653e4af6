import sys
sys.stderr.write("an error without a line end")
sys.stdout.write("text without a line end")
