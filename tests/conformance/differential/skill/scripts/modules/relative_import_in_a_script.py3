from . import measures
