"""tls_door.py DIR SOCKET: a TLS server on a free port of 127.0.0.1, whose connections
lead to the unix socket.  It asks every client for a certificate of its CA, as an engine
with --tlsverify does.  DIR holds ca.pem, server.pem and server-key.pem.  Prints the port.
"""
import os
import select
import socket
import ssl
import sys
import threading


AGAIN = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


def receive(source):
    """What is there: None when there is nothing now, b"" at the end."""
    try:
        return source.recv(65536)
    except AGAIN:
        return None


def send(target, data):
    """What is left of it."""
    try:
        return data[target.send(data):]
    except AGAIN:
        return data


def pump(outside, inside):
    """Both ways, and neither ever waits for the other."""
    waiting = {inside: b"", outside: b""}  # by where it goes
    outside.setblocking(False)
    inside.setblocking(False)
    while True:
        for source, target in ((outside, inside), (inside, outside)):
            if not waiting[target]:
                data = receive(source)
                if data == b"":
                    return
                waiting[target] = data or b""
            if waiting[target]:
                waiting[target] = send(target, waiting[target])
        full = [target for target in waiting if waiting[target]]
        empty = [inside if target is outside else outside
                 for target in waiting if not waiting[target]]
        select.select(empty, full, [], 0 if outside.pending() else None)


def serve(context, connection, path):
    inside = socket.socket(socket.AF_UNIX)
    try:
        outside = context.wrap_socket(connection, server_side=True)
        inside.connect(path)
        pump(outside, inside)
    except (OSError, ssl.SSLError):
        pass
    finally:
        connection.close()
        inside.close()


def main():
    directory, path = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.path.join(directory, "server.pem"),
                            os.path.join(directory, "server-key.pem"))
    context.load_verify_locations(os.path.join(directory, "ca.pem"))
    context.verify_mode = ssl.CERT_REQUIRED
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(16)
    os.write(1, b"%d\n" % listener.getsockname()[1])
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(context, connection, path),
                         daemon=True).start()


main()
