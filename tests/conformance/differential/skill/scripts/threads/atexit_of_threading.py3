import atexit
import threading
atexit.register(lambda: print("atexit", threading.active_count()))
threading._register_atexit(lambda: print("threading's own, first"))
threading.Thread(target=lambda: print("thread")).start()
