import linecache
print(linecache.getline(__file__, 1), linecache.getlines(__file__)[-1])
third = "the third line of this file"
