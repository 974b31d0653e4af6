code = compile("def made():\n    raise ValueError('made')\nmade()", "<made>", "exec")
exec(code)
