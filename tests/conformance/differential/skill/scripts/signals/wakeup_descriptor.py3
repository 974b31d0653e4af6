import os
import signal
reading, writing = os.pipe()
os.set_blocking(writing, False)
signal.set_wakeup_fd(writing)
signal.signal(signal.SIGUSR1, lambda *_: None)
signal.raise_signal(signal.SIGUSR1)
print(os.read(reading, 10) == bytes([signal.SIGUSR1]))
