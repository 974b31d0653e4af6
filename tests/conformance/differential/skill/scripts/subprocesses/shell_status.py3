import os
status = os.system("echo from the shell; exit 7")
print(os.waitstatus_to_exitcode(status))
with os.popen("echo piped") as pipe:
    print(pipe.read())
