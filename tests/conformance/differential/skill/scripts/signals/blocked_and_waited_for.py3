import os
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
os.kill(os.getpid(), signal.SIGUSR2)
print(signal.sigpending() == {signal.SIGUSR2})
print(signal.sigwait([signal.SIGUSR2]).name)
