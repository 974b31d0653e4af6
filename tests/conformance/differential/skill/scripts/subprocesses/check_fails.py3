import subprocess
subprocess.run(["sh", "-c", "exit 3"], check=True)
