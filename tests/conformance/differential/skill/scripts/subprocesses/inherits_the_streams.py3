import subprocess
print("before", flush=True)
subprocess.run(["sh", "-c", "echo out; echo err >&2"], check=True)
print("after")
