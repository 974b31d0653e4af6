import re
import sys
import unittest


class Sums(unittest.TestCase):
    def test_right(self):
        self.assertEqual(1 + 1, 2)

    def test_wrong(self):
        self.assertEqual([1, 2], [1, 3])

    @unittest.skip("not now")
    def test_skipped(self):
        pass

    def test_parts(self):
        for number in range(2):
            with self.subTest(number=number):
                self.assertTrue(number)


class Untimed:
    def write(self, text):
        sys.stderr.write(re.sub(r"in \d+\.\d+s", "in a while", text))

    def flush(self):
        sys.stderr.flush()


unittest.main(testRunner=unittest.TextTestRunner(stream=Untimed(), verbosity=2))
