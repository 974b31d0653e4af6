# stdin: "b\na\n"
import subprocess
print(subprocess.check_output(["sort"], text=True))
