import os
print("flushed", flush=True)
os.execvp("sh", ["sh", "-c", "echo from the shell; exit 5"])
