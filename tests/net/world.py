"""The test network, inside its namespaces: set up, serve, run the command, end.

Standard library only, and the programs ip, mount and openssl.  The parent sets up the
namespace and runs the command; a child serves and dies with the parent.
"""

import argparse
import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile

import dns
import web
from certificates import Authority
from observer import Observer

# On lo by name, so that tools which list addresses see them; all others are routed to it.
ADDRESSES = ["93.184.216.34/32", "151.101.1.69/32", "10.0.0.5/32", "169.254.169.254/32"]
ADDRESSES_6 = ["2606:2800:220:1:248:1893:25c8:1946/128", "2a04:4e42::133/128",
               "fd00:ec2::254/128"]
PORTS = [80, 443, 8080, 8443]
QUIET_PORTS = [21, 22, 25, 2375, 6379]  # nothing answers, but who comes is written down
TLS_PORTS = {443, 8443}

PR_SET_PDEATHSIG = 1


def die_with_parent(signal_number):
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal_number, 0, 0, 0)


def run(*words):
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)


def make_network():
    run("ip", "link", "set", "lo", "up")
    for address in ADDRESSES:
        run("ip", "address", "add", address, "dev", "lo")
    run("ip", "route", "add", "local", "0.0.0.0/0", "dev", "lo")
    # A machine without IPv6 still has the rest; tests of it find their own way.
    if os.path.exists("/proc/sys/net/ipv6"):
        for address in ADDRESSES_6:
            run("ip", "-6", "address", "add", address, "dev", "lo", "nodad")
        run("ip", "-6", "route", "add", "local", "::/0", "dev", "lo")


def bind_over(source, target):
    """A file or directory of ours where the system looks for its own."""
    if os.path.exists(target):
        run("mount", "--bind", source, os.path.realpath(target))
    else:
        print(f"tests/net: {target} is not there to be bound over", file=sys.stderr)


def make_files(directory, authority):
    resolv = os.path.join(directory, "resolv.conf")
    with open(resolv, "w", encoding="ascii") as file:
        file.write(f"nameserver {dns.ADDRESS}\noptions timeout:1 attempts:1\n")
    bind_over(resolv, "/etc/resolv.conf")
    hosts = os.path.join(directory, "hosts")
    with open(hosts, "w", encoding="ascii") as file:
        file.write("127.0.0.1 localhost\n::1 localhost\n")
    bind_over(hosts, "/etc/hosts")
    certs = os.path.join(directory, "certs")
    os.mkdir(certs)
    shutil.copy(authority.certificate, os.path.join(certs, "ca-certificates.crt"))
    shutil.copy(authority.certificate, os.path.join(certs, authority.hash() + ".0"))
    for path in [certs] + [os.path.join(certs, name) for name in os.listdir(certs)]:
        os.chmod(path, 0o755 if os.path.isdir(path) else 0o644)
    bind_over(certs, "/etc/ssl/certs")


def serve(observer, authority, script, files, ports, ready):
    die_with_parent(signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    dns.start(script, observer)
    for port in PORTS + ports:
        web.start(port, port in TLS_PORTS, authority, observer, files)
    for port in QUIET_PORTS:
        web.start_quiet(port, observer)
    os.write(ready, b"+")
    os.close(ready)
    while True:
        signal.pause()


def start_servers(*arguments):
    """Forks; returns when the servers listen."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        try:
            serve(*arguments, writer)
        finally:
            os._exit(1)
    os.close(writer)
    if os.read(reader, 1) != b"+":
        sys.exit("tests/net: the servers did not start")
    os.close(reader)
    return pid


def read_words():
    parser = argparse.ArgumentParser(prog="tests/net/run")
    parser.add_argument("--dns", default=os.path.join(os.path.dirname(__file__), "dns.json"))
    parser.add_argument("--ports", default="", help="further plain ones, by commas")
    parser.add_argument("command", nargs="+")
    words = parser.parse_args()
    words.ports = [int(port) for port in words.ports.split(",") if port]
    return words


def main():
    words = read_words()
    with tempfile.TemporaryDirectory(prefix="nacre-net.") as directory:
        os.chmod(directory, 0o755)
        script = os.path.join(directory, "dns.json")
        shutil.copyfile(words.dns, script)
        os.chmod(script, 0o666)  # a test may change it, as whatever user it runs
        files = os.path.join(directory, "files")
        os.mkdir(files)
        os.chmod(files, 0o1777)  # whoever tests, serves
        make_network()
        authority = Authority(os.path.join(directory, "ca"))
        make_files(directory, authority)
        log = os.path.join(directory, "log")
        servers = start_servers(Observer(log), authority, script, files, words.ports)
        environment = dict(os.environ, NACRE_NET_LOG=log, NACRE_NET_DNS=script,
                           NACRE_NET_CA=authority.certificate, NACRE_NET_FILES=files)
        command = subprocess.Popen(words.command, env=environment,
                                   preexec_fn=lambda: die_with_parent(signal.SIGTERM))
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: command.terminate())
        status = command.wait()
        os.kill(servers, signal.SIGKILL)
        os.waitpid(servers, 0)
    sys.exit(status if status >= 0 else 128 - status)


if __name__ == "__main__":
    main()
