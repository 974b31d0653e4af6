import subprocess
done = subprocess.run(["sh", "-c", "cat; echo wrong >&2; exit 4"], input="fed", capture_output=True, text=True)
print(done)
