import resource
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime >= 0, used.ru_maxrss > 0, resource.getpagesize())
resource.setrlimit(resource.RLIMIT_NOFILE, (16, 16))
files = []
try:
    while True:
        files.append(open("/dev/null"))
except OSError as full:
    print(full.strerror, len(files))
