import difflib
import filecmp
print("".join(difflib.unified_diff(["a\n", "b\n"], ["a\n", "c\n"], "old", "new")), difflib.get_close_matches("appel", ["ape", "apple"]))
print(filecmp.cmp("data/words.txt", "data/words.txt", shallow=False))
