import collections
Point = collections.namedtuple("Point", "x y", defaults=[0])
print(Point(1), collections.Counter("mississippi").most_common(2), collections.deque(range(5), maxlen=3))
chain = collections.ChainMap({"a": 1}, {"a": 2, "b": 3})
print(dict(chain), collections.OrderedDict(a=1), collections.defaultdict(list, a=[1]), Point(1) == (1, 0))
