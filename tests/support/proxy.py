"""A TCP proxy in front of PostgreSQL that cuts the connection at the commit of something recorded."""

import select
import socket
import socketserver
import threading
from contextlib import contextmanager

ANSWER, REQUEST = "the answer to COMMIT is lost", "COMMIT does not arrive"


class Proxy(socketserver.ThreadingTCPServer):
    """A proxy to the Unix socket of a server.

    Attributes:
        url: of the database behind it.
        cut: what is lost, if anything.
        cuts: how often it has cut a connection.
    """

    def __init__(self, url, cut):
        super().__init__(("127.0.0.1", 0), Connection)
        database, _, folder = url.partition("?host=")
        self.url = database.replace("@/", f"@127.0.0.1:{self.server_address[1]}/")
        self.behind = f"{folder}/.s.PGSQL.5432"
        self.cut, self.cuts = cut, 0


class Connection(socketserver.BaseRequestHandler):
    """Passes on what is sent. After an event was inserted, the connection is cut at COMMIT."""

    def handle(self):
        client, has_inserted = self.request, False
        with socket.socket(socket.AF_UNIX) as database:
            database.connect(self.server.behind)
            while True:
                for ready in select.select([client, database], [], [])[0]:
                    sent = ready.recv(1 << 16)
                    if not sent:
                        return
                    if ready is database:
                        client.sendall(sent)
                        continue
                    has_inserted = has_inserted or b"INSERT INTO events" in sent
                    if self.server.cut and has_inserted and b"COMMIT" in sent:
                        self.server.cuts += 1
                        if self.server.cut == ANSWER:
                            database.sendall(sent)
                            database.recv(1 << 16)
                        return
                    database.sendall(sent)


@contextmanager
def cutting(url, cut):
    """A proxy in front of a database."""
    with Proxy(url, cut) as proxy:
        serving = threading.Thread(target=proxy.serve_forever)
        serving.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            serving.join()
