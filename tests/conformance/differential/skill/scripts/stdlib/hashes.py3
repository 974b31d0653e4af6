import hashlib
import hmac
for name in ("md5", "sha1", "sha256", "sha3_512", "blake2b"):
    print(name, hashlib.new(name, b"fixed").hexdigest())
print(hmac.new(b"key", b"text", "sha256").hexdigest(), hash(12345), hash((1, 2.5)), hash(-1), hash(2**61 - 1))
print(hashlib.pbkdf2_hmac("sha256", b"p", b"s", 1000).hex(), hashlib.scrypt(b"p", salt=b"s", n=16, r=1, p=1).hex()[:16])
