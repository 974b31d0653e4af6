# stdin_times: 50000
# stdin: "0123456789"
import hashlib
import sys
print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())
