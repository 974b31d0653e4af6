import logging
import logging.config
logging.config.dictConfig({
    "version": 1,
    "formatters": {"f": {"format": "{levelname:<8}|{pathname}|{threadName}|{processName}|{message}", "style": "{"}},
    "handlers": {"h": {"class": "logging.StreamHandler", "formatter": "f", "stream": "ext://sys.stdout"}},
    "root": {"handlers": ["h"], "level": "INFO"},
})
logging.getLogger("x").warning("configured")
logging.captureWarnings(True)
import warnings
warnings.warn("through logging")
