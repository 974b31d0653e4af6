import signal
import time
signal.signal(signal.SIGALRM, lambda *_: print("alarm"))
signal.setitimer(signal.ITIMER_REAL, 0.02)
signal.pause()
print(signal.getitimer(signal.ITIMER_REAL))
time.sleep(0)
