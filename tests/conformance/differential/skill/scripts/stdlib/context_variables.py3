import contextvars
variable = contextvars.ContextVar("variable", default="default")
context = contextvars.copy_context()
context.run(variable.set, "inside")
print(variable.get(), context[variable], len(contextvars.copy_context()))
token = variable.set("set")
variable.reset(token)
print(variable.get(), token.old_value is contextvars.Token.MISSING)
