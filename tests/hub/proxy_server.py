"""An HTTP proxy on loopback, for tests: CONNECT, and requests for http URLs. Every host is mapped to the same
port on loopback, or to the port in `hosts`, so that tests can use hosts that do not exist.
"""

import base64
import http.client
import select
import socket
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Proxy:
    def __init__(self, hosts=None, user=None, refusal=None):
        self.hosts = hosts or {}  # "name" -> port
        self.refusal = refusal  # (status, headers) of all answers
        self.user = user  # (status, headers) of every answer
        self.log, self.lock = [], threading.Lock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.proxy = self
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = "http://127.0.0.1:%d" % self.server.server_port

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def requests(self):
        with self.lock:
            return list(self.log)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def allowed(self):
        proxy = self.server.proxy
        with proxy.lock:
            proxy.log.append({"line": "%s %s" % (self.command, self.path), "headers": dict(self.headers.items())})
        if proxy.refusal:
            return self.refuse(*proxy.refusal)
        given = self.headers.get("Proxy-Authorization", "")
        wanted = proxy.user and "Basic " + base64.b64encode(proxy.user.encode()).decode()
        if not wanted or given == wanted:
            return True
        return self.refuse(407, {"Proxy-Authenticate": 'Basic realm="proxy"'})

    def refuse(self, status, headers):
        self.send_response(status)
        for name, value in {"Content-Length": "0", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        return False

    def target(self, host, port):
        return "127.0.0.1", self.server.proxy.hosts.get(host, port)

    def do_CONNECT(self):
        if not self.allowed():
            return
        host, port = self.path.rsplit(":", 1)
        with socket.create_connection(self.target(host, int(port))) as other:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            self.wfile.flush()
            self.close_connection = True
            ends = {self.connection: other, other: self.connection}
            try:
                while True:
                    for ready in select.select(list(ends), [], [])[0]:
                        data = ready.recv(1 << 16)
                        if not data:
                            return
                        ends[ready].sendall(data)
            except ConnectionError:
                return

    def do_GET(self):
        if not self.allowed():
            return
        url = urllib.parse.urlsplit(self.path)
        connection = http.client.HTTPConnection(*self.target(url.hostname, url.port or 80))
        headers = {name: value for name, value in self.headers.items() if not name.lower().startswith("proxy-")}
        connection.request("GET", urllib.parse.urlunsplit(("", "", url.path, url.query, "")), headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "server", "date"):
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        connection.close()
