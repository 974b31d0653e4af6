# as: file
import _sibling
from _sibling import NAME
print(NAME, _sibling.__name__, _sibling.who())
