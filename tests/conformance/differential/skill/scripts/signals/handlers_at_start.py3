import signal
for number in sorted(signal.valid_signals()):
    handler = signal.getsignal(number)
    if handler is not signal.SIG_DFL and number not in (32, 33):
        print(number, getattr(handler, "__name__", handler))
print(signal.pthread_sigmask(signal.SIG_BLOCK, []))
