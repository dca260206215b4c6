"""What arrived, one JSON object a line, written before any answer is given."""

import json
import os
import threading
import time


class Observer:
    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.next_connection = 0
        with open(path, "w", encoding="ascii"):
            pass
        os.chmod(path, 0o666)  # a test may empty it, as whatever user it runs

    def new_connection(self):
        with self.lock:
            self.next_connection += 1
            return self.next_connection

    def tell(self, event, **fields):
        line = json.dumps({"event": event, "at": round(time.time(), 3), **fields}) + "\n"
        with self.lock:
            fd = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            try:
                os.write(fd, line.encode("ascii"))
            finally:
                os.close(fd)
