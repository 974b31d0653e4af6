import select
import selectors
import socket
left, right = socket.socketpair()
left.sendall(b"ping")
with selectors.DefaultSelector() as selector:
    selector.register(right, selectors.EVENT_READ, "right")
    print([key.data for key, _ in selector.select(1)], right.recv(4))
print(select.select([right], [left], [], 0)[1] == [left], left.family.name)
left.close()
print(right.recv(1))
