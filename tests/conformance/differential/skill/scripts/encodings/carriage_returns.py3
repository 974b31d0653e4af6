import sys
print("a\r\nb\rc\x00d\x1b[31m")
sys.stdout.write("no end\u2028of line")
