wrong = ValueError("main message")
wrong.add_note("a note")
wrong.add_note("another\nof two lines")
raise wrong
