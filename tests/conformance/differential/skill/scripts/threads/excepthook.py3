import threading
threading.excepthook = lambda args: print("hook:", args.exc_type.__name__, args.exc_value, args.thread.name)
thread = threading.Thread(target=lambda: 1 / 0, name="divider")
thread.start()
thread.join()
