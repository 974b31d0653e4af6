import sys
import warnings
for action, _, category, module, line in warnings.filters:
    print(action, category.__name__, module, line)
print(sys.warnoptions)
