import ast
import dis
import tokenize
tree = ast.parse("x = [n**2 for n in range(3)]")
print(ast.dump(tree), ast.unparse(tree), ast.literal_eval("{'a': (1, -2)}"))
dis.dis(compile("a + 1", "<expr>", "eval"))
print([token.string for token in tokenize.generate_tokens(iter(["x = 1\n"]).__next__)])
