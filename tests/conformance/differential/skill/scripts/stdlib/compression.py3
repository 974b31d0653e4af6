import bz2
import gzip
import lzma
import zlib
data = b"abc" * 1000
for module in (bz2, lzma, zlib):
    print(module.__name__, module.decompress(module.compress(data)) == data)
print(len(gzip.compress(data, mtime=0)), zlib.crc32(data), zlib.adler32(data))
zlib.decompress(b"no zlib")
