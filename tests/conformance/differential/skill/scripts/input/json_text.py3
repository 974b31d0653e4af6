# stdin: "{\"numbers\": [1, 2.5, null], \"text\": \"ä\"}"
import json
import sys
print(json.load(sys.stdin))
