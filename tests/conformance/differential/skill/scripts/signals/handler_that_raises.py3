import signal


class Stop(Exception):
    pass


def stop(number, frame):
    raise Stop(signal.Signals(number).name)


signal.signal(signal.SIGUSR1, stop)
try:
    signal.raise_signal(signal.SIGUSR1)
except Stop as stopped:
    print("stopped by", stopped)
signal.raise_signal(signal.SIGUSR1)
