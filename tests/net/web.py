"""HTTP and HTTPS servers on every address, each request written down before its answer.

  /                    a line of text; so is every path that is not listed here
  /echo                what came, as JSON: method, target, headers, body
  /redirect?to=URL&code=N   (302); /loop?n=N redirects to itself N times more
  /status/N            that status
  /slow?ms=N           waits before its answer (10 s); /drip?n=N&ms=M sends byte by byte;
  /stall               never answers (60 s)
  /huge?n=N            N bytes (64 MiB), with their length; /chunked?n=N in pieces
  /gzip-bomb?n=N       N zeros (256 MiB), compressed; /deflate-bomb likewise
  /big-headers?n=N     N bytes of header lines (256 KiB)
  /once                answers a connection's first request, and closes at a further one
  /close-midway        promises 1000 bytes, sends 10 and goes
  /set-cookie          sets one; what came with it is in the log
  /auth-required       401 without an Authorization header
  /reflect?header=NAME the value of that header, in the body and in X-Reflected
  /raw?base64=TEXT     exactly these bytes, then the connection is closed
  /files/PATH          a file of $NACRE_NET_FILES; a page where it ends in .html

Events: "connect" (address, port) for every connection, "tls" (sni) or "tls-error" after the
handshake, "request" with everything; `connection` tells them together.
"""

import base64
import http.server
import json
import os
import socket
import socketserver
import ssl
import threading
import time
import urllib.parse
import zlib

PIECE = bytes(65536)
BODY_MAX = 64 << 20
BODY_TOLD_MAX = 4096


def plain(address):
    """An IPv4 address that came through an IPv6 socket, as itself."""
    return address[7:] if address.startswith("::ffff:") and "." in address else address


def bomb(kind, count):
    """A compressed body of zeros, made piece by piece."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31 if kind == "gzip" else 15)
    while count > 0:
        yield packer.compress(PIECE[:min(count, len(PIECE))])
        count -= len(PIECE)
    yield packer.flush()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "nacre-test"
    sys_version = ""
    timeout = 60

    def setup(self):
        self.number = self.server.observer.new_connection()
        self.address, self.port = plain(self.request.getsockname()[0]), self.server.port
        self.sni = None
        self.asked = 0
        self.server.observer.tell("connect", connection=self.number, address=self.address,
                                  port=self.port)
        if self.server.tls:
            self.request.settimeout(10)
            self.request = self.server.handshake(self)
        super().setup()

    def log_message(self, *_):
        pass

    def read_body(self):
        if "chunked" in (self.headers.get("Transfer-Encoding") or "").lower():
            body = b""
            while (size := int(self.rfile.readline(32).split(b";")[0], 16)) > 0:
                body += self.rfile.read(size)
                self.rfile.readline(8)
                if len(body) > BODY_MAX:
                    break
            self.rfile.readline(8)
            return body
        return self.rfile.read(min(int(self.headers.get("Content-Length") or 0), BODY_MAX))

    def send(self, body, status=200, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer(self):
        body = self.read_body()
        self.asked += 1
        parts = urllib.parse.urlsplit(self.path)
        self.server.observer.tell(
            "request", connection=self.number, address=self.address, port=self.port,
            tls=self.server.tls, sni=self.sni, method=self.command,
            host=self.headers.get("Host"), target=self.path, path=parts.path,
            headers=[[name.lower(), value] for name, value in self.headers.items()],
            body_bytes=len(body), body=body[:BODY_TOLD_MAX].decode("latin-1"))
        self.query = dict(urllib.parse.parse_qsl(parts.query, keep_blank_values=True))
        self.body = body
        for prefix, route in ROUTES:
            if parts.path == prefix or prefix.endswith("/") and prefix != "/" and \
                    parts.path.startswith(prefix):
                return route(self, parts.path[len(prefix):])
        return self.send(f"nacre test server at {self.address}\n".encode("ascii"))

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = answer

    def number_of(self, name, default):
        return int(self.query.get(name, default))

    def echo(self, _):
        told = {"method": self.command, "target": self.path, "address": self.address,
                "port": self.port, "tls": self.server.tls, "sni": self.sni,
                "headers": dict(self.headers.items()), "body": self.body.decode("latin-1")}
        self.send(json.dumps(told, indent=1).encode("ascii"),
                  Content_Type="application/json")

    def redirect(self, _):
        self.send(b"elsewhere\n", self.number_of("code", 302),
                  Location=self.query.get("to", "/"))

    def loop(self, _):
        left = self.number_of("n", 1)
        if left <= 0:
            return self.send(b"out of the loop\n")
        return self.send(b"once more\n", 302, Location=f"/loop?n={left - 1}")

    def status(self, rest):
        code = int(rest)
        self.send(b"" if code in (204, 304) else f"status {code}\n".encode("ascii"), code)

    def slow(self, _):
        time.sleep(self.number_of("ms", 10000) / 1000)
        self.send(b"at last\n")

    def stall(self, _):
        time.sleep(60)

    def drip(self, _):
        count = self.number_of("n", 100)
        self.send_response(200)
        self.send_header("Content-Length", str(count))
        self.end_headers()
        for _ in range(count):
            self.wfile.write(b".")
            time.sleep(self.number_of("ms", 100) / 1000)

    def huge(self, _):
        count = self.number_of("n", 64 << 20)
        self.send_response(200)
        self.send_header("Content-Length", str(count))
        self.end_headers()
        while count > 0 and self.command != "HEAD":
            self.wfile.write(PIECE[:min(count, len(PIECE))])
            count -= len(PIECE)

    def send_pieces(self, pieces, **headers):
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for piece in pieces:
            if piece:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def chunked(self, _):
        self.send_pieces(b"piece %d\n" % index for index in range(self.number_of("n", 10)))

    def gzip_bomb(self, _):
        self.send_pieces(bomb("gzip", self.number_of("n", 256 << 20)),
                         Content_Encoding="gzip")

    def deflate_bomb(self, _):
        self.send_pieces(bomb("deflate", self.number_of("n", 256 << 20)),
                         Content_Encoding="deflate")

    def big_headers(self, _):
        self.send_response(200)
        left, index = self.number_of("n", 256 << 10), 0
        while left > 0:
            self.send_header(f"X-Filler-{index}", "f" * min(left, 4000))
            left, index = left - 4000, index + 1
        self.send_header("Content-Length", "0")
        self.end_headers()

    def close_midway(self, _):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"ten bytes\n")
        self.close_connection = True

    def once(self, _):
        if self.asked > 1:
            self.close_connection = True
            return None
        return self.send(b"once\n")

    def set_cookie(self, _):
        self.send(b"a cookie\n", Set_Cookie="session=cookie-of-the-first; Path=/")

    def auth_required(self, _):
        if self.headers.get("Authorization"):
            return self.send(b"welcome\n")
        return self.send(b"who are you?\n", 401, WWW_Authenticate='Basic realm="nacre"')

    def reflect(self, _):
        value = self.headers.get(self.query.get("header", "Authorization")) or ""
        self.send(value.encode("latin-1", "replace"), X_Reflected=value)

    def raw(self, _):
        text = self.query.get("base64", "").replace(" ", "+")
        self.wfile.write(base64.b64decode(text))
        self.close_connection = True

    def files(self, rest):
        root = os.path.realpath(self.server.files)
        path = os.path.realpath(os.path.join(root, urllib.parse.unquote(rest)))
        if not path.startswith(root + "/") or not os.path.isfile(path):
            return self.send(b"no such file\n", 404)
        with open(path, "rb") as file:
            kind = "text/html" if rest.endswith(".html") else "application/octet-stream"
            return self.send(file.read(), Content_Type=kind)


ROUTES = [("/echo", Handler.echo), ("/redirect", Handler.redirect), ("/loop", Handler.loop),
          ("/status/", Handler.status), ("/slow", Handler.slow), ("/stall", Handler.stall),
          ("/drip", Handler.drip), ("/huge", Handler.huge), ("/chunked", Handler.chunked),
          ("/gzip-bomb", Handler.gzip_bomb), ("/deflate-bomb", Handler.deflate_bomb),
          ("/big-headers", Handler.big_headers), ("/close-midway", Handler.close_midway),
          ("/once", Handler.once), ("/set-cookie", Handler.set_cookie),
          ("/auth-required", Handler.auth_required),
          ("/reflect", Handler.reflect), ("/raw", Handler.raw), ("/files/", Handler.files)]


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 1024

    def __init__(self, port, tls, authority, observer, files):
        self.port, self.tls, self.authority = port, tls, authority
        self.observer, self.files = observer, files
        super().__init__(("", port), Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listen(port)
        self.server_address = self.socket.getsockname()

    def handshake(self, handler):
        def choose(peer, name, _):
            handler.sni = name
            try:
                peer.context = self.authority.context(name or handler.address)
            except ValueError:
                return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
            return None

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = choose
        context.set_alpn_protocols(["http/1.1"])
        try:
            peer = context.wrap_socket(handler.request, server_side=True)
        except (OSError, ValueError) as error:
            self.observer.tell("tls-error", connection=handler.number,
                               address=handler.address, port=self.port, sni=handler.sni,
                               what=str(error))
            raise ConnectionAbortedError("no TLS") from error
        self.observer.tell("tls", connection=handler.number, address=handler.address,
                           port=self.port, sni=handler.sni)
        return peer

    def handle_error(self, *_):
        pass  # clients that go away are what is tested


def listen(port):
    if socket.has_dualstack_ipv6():
        server = socket.create_server(("::", port), family=socket.AF_INET6, backlog=1024,
                                      dualstack_ipv6=True)
    else:
        server = socket.create_server(("", port), backlog=1024)
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return server


def spawn(function, *arguments):
    threading.Thread(target=function, args=arguments, daemon=True).start()


def start(port, tls, authority, observer, files):
    spawn(Server(port, tls, authority, observer, files).serve_forever)


def start_quiet(port, observer):
    server = listen(port)

    def take():
        while True:
            peer, _ = server.accept()
            observer.tell("connect", connection=observer.new_connection(),
                          address=plain(peer.getsockname()[0]), port=port)
            peer.close()

    spawn(take)
