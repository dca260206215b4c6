"""A DNS server that answers by a script, over UDP and TCP.

The script is JSON: names (lower case; "*.name" for what lies below) and what is said:

  {"api.example.com": {"A": ["93.184.216.34"], "AAAA": ["2606:..."], "ttl": 60},
   "rebind.example.com": {"sequence": [{"A": ["93.184.216.34"]}, {"A": ["127.0.0.1"]}]},
   "alias.example.com": {"CNAME": "api.example.com"},
   "none.example.com": {"rcode": "NXDOMAIN"},
   "broken.example.com": {"rcode": "SERVFAIL"},
   "silent.example.com": {"silent": true},
   "late.example.com": {"A": [...], "delay_ms": 500},
   "big.example.com": {"A": [...], "truncate": true},
   "forged.example.com": {"A": [...], "wrong_id": true},
   "other.example.com": {"A": [...], "answer_for": "api.example.com"}}

A sequence counts for each type apart, so that the first lookup of A and the first of AAAA
get the first entry; the last one stays.  A name that is not there is NXDOMAIN; a type that
a name lacks is an empty answer.  The file is read anew when it changes.
"""

import ipaddress
import json
import os
import socket
import struct
import threading
import time

ADDRESS = "127.0.0.53"
TYPES = {1: "A", 28: "AAAA", 5: "CNAME", 16: "TXT", 15: "MX", 65: "HTTPS", 33: "SRV"}
NUMBERS = {name: number for number, name in TYPES.items()}
RCODES = {"NOERROR": 0, "FORMERR": 1, "SERVFAIL": 2, "NXDOMAIN": 3, "REFUSED": 5}
CNAMES_MAX = 8


def pack_name(name):
    labels = [label.encode("ascii") for label in name.rstrip(".").split(".") if label]
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def unpack_question(packet):
    labels, at = [], 12
    while packet[at]:
        if packet[at] > 63:
            raise ValueError("a compressed question")
        labels.append(packet[at + 1:at + 1 + packet[at]].decode("latin-1"))
        at += 1 + packet[at]
    kind, = struct.unpack_from("!H", packet, at + 1)
    return ".".join(labels), kind, packet[12:at + 5]


class Script:
    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.stamp = None
        self.names = {}
        self.asked = {}

    def read_again(self):
        status = os.stat(self.path)
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp != self.stamp:
            with open(self.path, encoding="ascii") as file:
                self.names = json.load(file)
            self.stamp = stamp
            self.asked = {}

    def find(self, name):
        if name in self.names:
            return self.names[name]
        labels = name.split(".")
        for count in range(1, len(labels)):
            wild = "*." + ".".join(labels[count:])
            if wild in self.names:
                return self.names[wild]
        return {"rcode": "NXDOMAIN"}

    def entry(self, name, kind):
        with self.lock:
            self.read_again()
            entry = self.find(name.lower())
            if "sequence" not in entry:
                return entry
            turn = self.asked.get((name.lower(), kind), 0)
            self.asked[(name.lower(), kind)] = turn + 1
            return entry["sequence"][min(turn, len(entry["sequence"]) - 1)]


def record(name, kind, ttl, data):
    return pack_name(name) + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data


def answers(script, name, kind, entry):
    """The records, and the rcode of the name at the end of the aliases."""
    found = []
    for _ in range(CNAMES_MAX):
        owner = entry.get("answer_for", name)
        ttl = entry.get("ttl", 0)
        if "CNAME" in entry:
            found.append(record(owner, 5, ttl, pack_name(entry["CNAME"])))
            name = entry["CNAME"]
            entry = script.entry(name, kind)
            continue
        for text in entry.get(TYPES.get(kind, ""), []):
            found.append(record(owner, kind, ttl, ipaddress.ip_address(text).packed))
        break
    return found, RCODES[entry.get("rcode", "NOERROR")]


def reply(script, observer, packet, over, client):
    """The bytes to send; None: silence."""
    number, flags = struct.unpack_from("!HH", packet)
    name, kind, question = unpack_question(packet)
    observer.tell("query", name=name, type=TYPES.get(kind, str(kind)), over=over,
                  client=client)
    entry = script.entry(name, kind)
    time.sleep(entry.get("delay_ms", 0) / 1000)
    if entry.get("silent"):
        return None
    found, rcode = answers(script, name, kind, entry)
    if entry.get("wrong_id"):
        number ^= 0x5555
    truncated = bool(entry.get("truncate")) and over == "udp"
    if truncated:
        found = []
    flags = 0x8080 | (flags & 0x0100) | (0x0200 if truncated else 0) | rcode
    return struct.pack("!HHHHHH", number, flags, 1, len(found), 0, 0) + question + \
        b"".join(found)


def serve_datagram(script, observer, server, packet, client):
    try:
        answer = reply(script, observer, packet, "udp", client[0])
        if answer is not None:
            server.sendto(answer, client)
    except (ValueError, IndexError, struct.error, OSError) as error:
        observer.tell("dns-error", what=str(error))


def serve_stream(script, observer, peer, client):
    with peer:
        try:
            peer.settimeout(10)
            with peer.makefile("rb") as lines:
                while size := lines.read(2):
                    packet = lines.read(struct.unpack("!H", size)[0])
                    answer = reply(script, observer, packet, "tcp", client[0])
                    if answer is not None:
                        peer.sendall(struct.pack("!H", len(answer)) + answer)
        except (ValueError, IndexError, struct.error, OSError) as error:
            observer.tell("dns-error", what=str(error))


def spawn(function, *arguments):
    threading.Thread(target=function, args=arguments, daemon=True).start()


def take_datagrams(script, observer, server):
    while True:
        packet, client = server.recvfrom(4096)
        spawn(serve_datagram, script, observer, server, packet, client)


def take_streams(script, observer, server):
    while True:
        peer, client = server.accept()
        spawn(serve_stream, script, observer, peer, client)


def take_strays(observer, server, family):
    """Whoever asks another resolver, or speaks UDP at all, is written down."""
    while True:
        packet, notes, _, client = server.recvmsg(4096, 256)
        address = "?"
        for _, _, data in notes:
            address = socket.inet_ntop(family, data[8:12] if family == socket.AF_INET
                                       else data[:16])
        observer.tell("datagram", address=address, port=server.getsockname()[1],
                      client=client[0], bytes=len(packet))


def start_strays(observer, port):
    for family, level, option, any_address in (
            (socket.AF_INET, socket.IPPROTO_IP, 8, "0.0.0.0"),  # IP_PKTINFO
            (socket.AF_INET6, socket.IPPROTO_IPV6, 49, "::")):  # IPV6_RECVPKTINFO
        try:
            server = socket.socket(family, socket.SOCK_DGRAM)
            server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                server.setsockopt(level, socket.IPV6_V6ONLY, 1)
            server.setsockopt(level, option, 1)
            server.bind((any_address, port))
        except OSError:
            continue  # no IPv6 here
        spawn(take_strays, observer, server, family)


def start(path, observer):
    script = Script(path)
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    datagrams.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    datagrams.bind((ADDRESS, 53))
    streams = socket.create_server((ADDRESS, 53))
    spawn(take_datagrams, script, observer, datagrams)
    spawn(take_streams, script, observer, streams)
    for port in (53, 123, 443):
        start_strays(observer, port)
