import unicodedata
print(unicodedata.name("☃"), unicodedata.normalize("NFD", "ä") == "a\u0308", unicodedata.unidata_version)
print("ǅ".lower(), "ß".upper(), "İ".casefold() == "i̇", "١".isdigit(), int("١٢"))
