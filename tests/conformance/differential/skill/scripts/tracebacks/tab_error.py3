if True:
        first = 1
	second = 2
