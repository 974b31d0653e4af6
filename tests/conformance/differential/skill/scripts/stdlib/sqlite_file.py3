import os
import sqlite3
path = os.path.join(os.environ["TMPDIR"], "x.db")
first = sqlite3.connect(path, isolation_level=None)
first.execute("pragma journal_mode=wal")
first.execute("create table t (a)")
first.execute("insert into t values (1)")
second = sqlite3.connect(path)
print(second.execute("select count(*) from t").fetchone(), sorted(os.listdir(os.path.dirname(path)))[-3:])
