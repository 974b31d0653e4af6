# stdin: "x\ny\n"
import fileinput
for line in fileinput.input():
    print(fileinput.lineno(), line.strip(), fileinput.filename())
