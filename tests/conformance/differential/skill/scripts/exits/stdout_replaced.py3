import io
import sys
sys.stdout = io.StringIO()
print("kept")
kept = sys.stdout.getvalue()
sys.__stdout__.write(kept.upper())
