import os
with open("/dev/shm/differential-run", "w") as file:
    file.write("x")
print(os.path.getsize("/dev/shm/differential-run"))
os.unlink("/dev/shm/differential-run")
