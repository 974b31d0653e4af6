import threading
ready = threading.Event()


def forever():
    ready.set()
    threading.Event().wait()
    print("never")


threading.Thread(target=forever, daemon=True).start()
ready.wait()
print("main ends")
