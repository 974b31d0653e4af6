import threading
main = threading.main_thread()
print(threading.enumerate() == [main], main.name, main.daemon, main is threading.current_thread())
print(main.native_id == threading.get_native_id(), main.ident == threading.get_ident(), repr(main).startswith("<_MainThread(MainThread, started"))
print(threading.stack_size(), threading.excepthook is threading.__excepthook__, threading.gettrace())
