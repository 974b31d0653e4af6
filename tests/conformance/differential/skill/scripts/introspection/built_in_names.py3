import builtins
print(__builtins__ is builtins, builtins.__dict__["print"] is print, builtins.open.__module__)
print(sorted(name for name in vars(builtins) if name not in ("_",)))
