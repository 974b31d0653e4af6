import logging
print(logging.root.handlers, logging.getLevelName(logging.root.level), sorted(logging.root.manager.loggerDict))
