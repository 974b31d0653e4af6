import sys
for stream in (sys.stdin, sys.stdout, sys.stderr):
    print(stream.name, stream.encoding, stream.errors, stream.line_buffering, stream.write_through, stream.newlines)
    print(stream.fileno(), stream.isatty(), stream.mode, stream.closed, type(stream.buffer).__name__)
print(sys.__stdout__ is sys.stdout, sys.__stdin__ is sys.stdin, sys.__stderr__ is sys.stderr)
