"""A test CA, and certificates for whatever name a client asks for, by openssl."""

import ipaddress
import os
import ssl
import subprocess
import threading

CONFIG = """
[req]
distinguished_name = name
prompt = no
[name]
CN = nacre test
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[leaf]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = ${ENV::ALT_NAME}
"""


def openssl(*words, alt_name="DNS:unused.invalid"):
    result = subprocess.run(["openssl", *words], check=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=dict(os.environ, ALT_NAME=alt_name))
    return result.stdout.decode("ascii").strip()


class Authority:
    def __init__(self, directory):
        os.mkdir(directory)
        os.chmod(directory, 0o755)
        self.directory = directory
        self.config = self.path("openssl.cnf")
        with open(self.config, "w", encoding="ascii") as file:
            file.write(CONFIG)
        self.certificate = self.make_ca("ca", "nacre test CA")
        self.make_ca("stranger", "a CA that nobody trusts")
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-out", self.path("leaf.key"))
        self.contexts = {}
        self.lock = threading.Lock()

    def path(self, name):
        return os.path.join(self.directory, name)

    def make_ca(self, name, subject):
        openssl("req", "-x509", "-config", self.config, "-extensions", "ca", "-days", "2",
                "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", "/CN=" + subject, "-keyout", self.path(name + ".key"),
                "-out", self.path(name + ".pem"))
        os.chmod(self.path(name + ".pem"), 0o644)
        return self.path(name + ".pem")

    def hash(self):
        return openssl("x509", "-noout", "-hash", "-in", self.certificate)

    def make_leaf(self, name, out):
        """The first label says what is wrong with it, if anything is."""
        label = name.split(".")[0]
        ca = "stranger" if label == "untrusted" else "ca"
        days = "-1" if label == "expired" else "2"
        known = "elsewhere.example.net" if label == "misnamed" else name
        try:
            alt_name = "IP:" + str(ipaddress.ip_address(known))
        except ValueError:
            alt_name = "DNS:" + known
        openssl("req", "-new", "-config", self.config, "-key", self.path("leaf.key"),
                "-subj", "/CN=nacre test server", "-out", out + ".csr", alt_name=alt_name)
        openssl("x509", "-req", "-in", out + ".csr", "-CA", self.path(ca + ".pem"),
                "-CAkey", self.path(ca + ".key"), "-CAcreateserial", "-days", days,
                "-extfile", self.config, "-extensions", "leaf", "-out", out,
                alt_name=alt_name)

    def context(self, name):
        """Raises ValueError for what is no name."""
        if not name or not all(c.isalnum() or c in ".-:_" for c in name):
            raise ValueError("not a name")
        with self.lock:
            if name not in self.contexts:
                out = self.path(f"leaf{len(self.contexts)}.pem")
                self.make_leaf(name, out)
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.set_alpn_protocols(["http/1.1"])
                context.load_cert_chain(out, self.path("leaf.key"))
                self.contexts[name] = context
            return self.contexts[name]
