import code
code.InteractiveInterpreter({"given": 1}).runsource("given + 1")
code.InteractiveInterpreter().runsource("1 / 0")
