import locale
print(locale.setlocale(locale.LC_ALL), locale.getlocale(), locale.getpreferredencoding(), locale.localeconv()["decimal_point"])
print(f"{1234567.891:n}", locale.setlocale(locale.LC_NUMERIC, "C"), locale.strxfrm("a") < locale.strxfrm("b"))
locale.setlocale(locale.LC_ALL, "xx_XX.no-such")
