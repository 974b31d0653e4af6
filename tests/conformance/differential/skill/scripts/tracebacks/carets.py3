data = {"a": {"b": [1, 2]}}
print(data["a"]["b"][0] + data["a"]["c"][0] * 2)
