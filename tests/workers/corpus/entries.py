"""The whole corpus: folders as authors write them, good, odd and broken; always the same ones."""

from tests.workers.corpus.entry import Entry
from tests.workers.corpus.fields import fields
from tests.workers.corpus.names import names
from tests.workers.corpus.oddities import oddities

ENTRIES: tuple[Entry, ...] = (*names(), *fields(), *oddities())
