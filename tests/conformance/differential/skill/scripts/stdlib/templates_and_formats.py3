import string
print(string.Template("$who likes ${what}").safe_substitute(who="Ada"), f"{3.14159:>10.2f}|{255:#x}|{'x':^5}|{1e9:,}")
print("%s %r %5.1f%%" % ("a", "b", 3.14159), "{0[key]} {1.real}".format({"key": 1}, 2j), f"{1 + 1 = }")
string.Template("$who").substitute()
