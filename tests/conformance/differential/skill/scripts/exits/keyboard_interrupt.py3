print("before", flush=True)
raise KeyboardInterrupt("by hand")
