import sqlite3
with sqlite3.connect(":memory:") as database:
    database.execute("create table t (a integer primary key, b text, c blob)")
    database.executemany("insert into t (b, c) values (?, ?)", [("x", b"\0"), ("ä", None)])
    database.create_function("double", 1, lambda n: 2 * n)
    print(database.execute("select double(a), b, c from t order by a desc").fetchall())
    database.execute("select * from missing")
