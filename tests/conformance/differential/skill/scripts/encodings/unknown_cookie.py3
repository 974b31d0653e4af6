# -*- coding: no-such-coding -*-
print("never")
