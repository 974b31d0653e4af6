import subprocess
first = subprocess.Popen(["printf", "b\\na\\nc\\n"], stdout=subprocess.PIPE)
second = subprocess.Popen(["sort"], stdin=first.stdout, stdout=subprocess.PIPE, text=True)
first.stdout.close()
print(second.communicate()[0].split(), first.wait())
