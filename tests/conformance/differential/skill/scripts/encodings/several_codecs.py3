import codecs
print("ä".encode("utf-16-le"), "abc".encode("punycode"), codecs.encode("abc", "rot13"), b"\xff".decode("latin-1"))
b"\xff".decode()
