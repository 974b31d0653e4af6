import csv
import io
text = 'name,note\nA,"says ""hi"", twice"\nB,"two\nlines"\n'
rows = list(csv.DictReader(io.StringIO(text)))
out = io.StringIO()
csv.DictWriter(out, rows[0], dialect="excel-tab").writerows(rows)
print(rows, repr(out.getvalue()), csv.Sniffer().sniff("a;b\n1;2\n").delimiter)
