import io
import os
import tarfile
import zipfile
os.chdir(os.environ["TMPDIR"])
with zipfile.ZipFile("x.zip", "w", zipfile.ZIP_DEFLATED) as packed:
    packed.writestr("a/b.txt", "text" * 100)
with tarfile.open("x.tar.xz", "w:xz") as packed:
    (info := tarfile.TarInfo("c")).size = 3
    packed.addfile(info, io.BytesIO(b"abc"))
print(zipfile.ZipFile("x.zip").read("a/b.txt")[:8], tarfile.open("x.tar.xz").getnames(), zipfile.is_zipfile("x.tar.xz"))
zipfile.ZipFile("x.tar.xz")
