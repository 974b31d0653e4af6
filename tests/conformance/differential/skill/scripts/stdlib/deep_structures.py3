import copy
import json
nested = []
for _ in range(500):
    nested = [nested]
print(len(json.dumps(nested)), copy.deepcopy(nested) == nested)
for _ in range(100_000):
    nested = [nested]
json.dumps(nested)
