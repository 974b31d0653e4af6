import array
import base64
import binascii
import struct
print(struct.pack("<IhQ?d", 1, -2, 3, True, 0.5).hex(), struct.calcsize("@iq"), array.array("h", [1, 2]).tobytes())
print(base64.b85encode(b"data"), binascii.hexlify(b"\xff", "-"), memoryview(b"abcd")[::2].tolist(), (258).to_bytes(2, "big"))
struct.unpack("<I", b"abc")
