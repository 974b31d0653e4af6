from importlib import resources
print(resources.files("measures").joinpath("units.txt").read_text())
print(sorted(entry.name for entry in resources.files("measures").iterdir() if "pycache" not in entry.name))
