import os
import tempfile
with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("w+") as file:
    print(os.path.dirname(folder) == tempfile.gettempdir() == os.environ["TMPDIR"])
    file.write("x")
    file.flush()
    print(os.path.getsize(file.name), oct(os.stat(folder).st_mode & 0o777), oct(os.stat(file.name).st_mode & 0o777))
print(os.path.exists(folder), os.path.exists(file.name))
with tempfile.SpooledTemporaryFile(10) as spooled:
    spooled.write(b"x" * 20)
    print(spooled.tell())
