import subprocess
print(subprocess.check_output(["env"], env={"ONLY": "this"}, text=True))
