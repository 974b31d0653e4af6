from unittest import mock
import os
with mock.patch("os.getcwd", return_value="/patched") as patched:
    print(os.getcwd(), patched.call_count)
with mock.patch("__main__.os") as whole:
    print(os is whole)
print(mock.call(1, a=2), os.getcwd() != "/patched")
