import os
os.chdir(os.environ["TMPDIR"])
os.mkdir("gone")
os.chdir("gone")
os.rmdir("../gone")
os.getcwd()
