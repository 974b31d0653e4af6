print(sorted(globals()), sorted(locals()) == sorted(globals()))
print(__name__, __doc__, __package__, __spec__, __cached__, __annotations__)
