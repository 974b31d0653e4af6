import sys
sys.stdout.buffer.write(b"caf\xc3\xa9 \xf0\x9f\x98\x80\n")
print("ä☃😀", ascii("ä"), "\N{SNOWMAN}")
print("err: ☃", file=sys.stderr)
