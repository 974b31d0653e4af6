try:
    1 / 0
except ZeroDivisionError as wrong:
    raise SystemExit("quietly") from wrong
