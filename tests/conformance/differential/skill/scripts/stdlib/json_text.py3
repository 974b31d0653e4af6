import json
data = {"ä": [1, 2.5, None, True, float("inf")], "nested": {"b": 1, "a": "\u2028"}}
text = json.dumps(data, indent=2, sort_keys=True)
print(text, json.dumps(data, ensure_ascii=False), json.loads(text) == data)
json.loads('{"a": 1,}')
