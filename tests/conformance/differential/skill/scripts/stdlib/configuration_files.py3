import configparser
import tomllib
parser = configparser.ConfigParser()
parser.read_string("[a]\nx = 1\ny = %(x)s2\n[b]\nz: yes\n")
print({name: dict(parser[name]) for name in parser.sections()}, parser["b"].getboolean("z"))
print(tomllib.loads('a = [1, 2]\n[b]\nwhen = 2024-01-01T00:00:00Z'))
tomllib.loads("a = ")
