seen = (__name__, given, __file__, __package__)
