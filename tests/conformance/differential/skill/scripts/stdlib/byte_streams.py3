import io
text = io.TextIOWrapper(io.BytesIO("a\r\nä".encode()), encoding="utf-8")
print(text.readlines(), io.StringIO("x\ny").readline(), io.BufferedReader(io.BytesIO(b"abc")).peek(1))
with open("/dev/null") as nothing:
    nothing.write("not writable")
