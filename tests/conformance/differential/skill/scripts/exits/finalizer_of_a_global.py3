class Last:
    def __del__(self, say=print):
        say("finalised at exit")


last = Last()
print("main ends")
