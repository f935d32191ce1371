#!/usr/bin/env python3
"""pippin serve as a command: addresses, signals, inherited sockets, changes of keys and certificates, and killed
servers. PIPPIN=build/release/pippin/cli/pippin; runs alone: command_test.py [CLASS[.TEST]...]
"""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest

PIPPIN = os.environ.get("PIPPIN", "pippin")
STORY = {"messages": [{"role": "user", "content": "Tell me a story about a fox called Mia."}]}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Server:
    def __init__(self, *arguments, environment=None, pass_fds=(), preexec=None):
        self.process = subprocess.Popen([PIPPIN, "serve", *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, env={**os.environ, **(environment or {})},
                                        pass_fds=pass_fds, preexec_fn=preexec)
        self.lines = []
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line)

    def log(self):
        return "".join(self.lines)

    def wait_for(self, pattern, seconds=30):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = re.search(pattern, self.log())
            if found:
                return found
            if self.process.poll() is not None:
                self.reader.join()
                found = re.search(pattern, self.log())
                if found:
                    return found
                break
            time.sleep(0.01)
        raise AssertionError(f"no {pattern} in: {self.log()}")

    def port(self):
        return int(self.wait_for(r"listening at https?://\S*:(\d+)").group(1))

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port(), timeout=30)

    def ready(self, connection=None):
        """Waits until the model is loaded."""
        for _ in range(1000):
            own = connection or self.connect()
            own.request("GET", "/health")
            answer = own.getresponse()
            answer.read()
            if answer.status == 200:
                return self
            time.sleep(0.01)
        raise AssertionError("never ready")

    def ask(self, method="GET", path="/v1/models", body=None, headers=None, connection=None):
        connection = connection or self.connect()
        connection.request(method, path, json.dumps(body) if body is not None else None, headers or {})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read() or b"null")

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(timeout=30)
        self.reader.join()
        self.process.stderr.close()
        return status


class ServeTest(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="pippin-serve-")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)

    def serve(self, *arguments, **options):
        server = Server(*arguments, **options)
        self.addCleanup(lambda: (server.process.poll() is None and server.process.kill(), server.end()))
        return server

    def path(self, name):
        return os.path.join(self.home, name)


class Addresses(ServeTest):
    def test_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            server = self.serve("--port", str(port))
            self.assertEqual(server.process.wait(timeout=30), 1)
            server.wait_for(f"pippin: error: cannot listen at 127.0.0.1:{port}: Address already in use")

    def test_elsewhere_needs_a_key(self):
        server = self.serve("--host", "0.0.0.0", "--port", "0", environment={"PIPPIN_API_KEY": ""})
        self.assertEqual(server.process.wait(timeout=30), 2)
        server.wait_for("--host 0.0.0.0: others can reach this server: give --api-key")

    def test_tools_elsewhere_need_a_key(self):
        for more in ([], ["--no-auth"]):
            server = self.serve("--host", "0.0.0.0", "--port", "0", "--tool", "now=date", *more, environment={"PIPPIN_API_KEY": ""})
            self.assertEqual(server.process.wait(timeout=30), 2)
            server.wait_for("--tool: others can reach this server and could run its commands: give --api-key")

    def test_tools_of_one_name(self):
        server = self.serve("--port", "0", "--tool", "now=date", "--tool", "now=uptime")
        self.assertEqual(server.process.wait(timeout=30), 2)
        server.wait_for('--tool: two tools are named "now"')

    def test_memory_is_told(self):
        server = self.serve("--port", "0", "--cache-ram", "64M", "--cache-tokens", "512")
        server.wait_for(r"model demo: loaded in .*; context 512; memory for 512 tokens of all conversations, .*, and 6\d.* MB of kept prompts")
        self.serve("--port", "0", "--cache-ram", "0").wait_for(r"tokens of all conversations, [^,]*\n")

    def test_unix_socket(self):
        path = self.path("socket")
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(path)  # no process listens on it
        server = self.serve("--unix", path)
        server.wait_for("listening at unix:")
        server.ready(UnixConnection(path))
        self.assertEqual(os.stat(path).st_mode & 0o077, 0)
        status, _ = server.ask(connection=UnixConnection(path))
        self.assertEqual(status, 200)
        self.assertEqual(server.end(), 0)
        self.assertFalse(os.path.exists(path))

    def inherit(self, listening, *arguments):
        # As a service manager does: the socket is file descriptor 3, and LISTEN_PID the process.
        script = 'exec 3<&%d; export LISTEN_PID=$$ LISTEN_FDS=1; exec "$0" serve "$@"' % listening.fileno()
        process = subprocess.Popen(["bash", "-c", script, PIPPIN, *arguments], pass_fds=[listening.fileno()], text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   env={**os.environ, "PIPPIN_API_KEY": ""})
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        return process

    def check_ready(self, port):
        for _ in range(500):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return
            time.sleep(0.01)
        self.fail("never ready")

    def test_service_manager_is_told(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(self.path("notify"))
            manager.settimeout(30)
            server = self.serve("--port", "0", environment={"NOTIFY_SOCKET": self.path("notify")})
            self.assertIn(b"READY=1", manager.recv(1000).split(b"\n"))
            connection = server.connect()
            connection.request("GET", "/health")
            self.assertEqual(connection.getresponse().status, 200)
            server.process.send_signal(signal.SIGTERM)
            self.assertIn(b"STOPPING=1", manager.recv(1000).split(b"\n"))
            self.assertEqual(server.end(), 0)

    def test_inherited_socket(self):
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
            self.inherit(listening)
        self.check_ready(port)

    def test_inherited_socket_that_is_open_needs_a_key(self):
        with socket.create_server(("0.0.0.0", 0)) as listening:
            process = self.inherit(listening)
            self.assertIn("socket 3: others can reach this server: give --api-key", process.communicate(timeout=30)[1])
            self.assertEqual(process.returncode, 2)
            port = listening.getsockname()[1]
            self.inherit(listening, "--no-auth")
        self.check_ready(port)

    def test_models_that_are_not_there(self):
        server = self.serve("--port", "0", self.path("gone.mlpackage"))
        self.assertEqual(server.process.wait(timeout=30), 1)
        self.assertNotEqual(server.wait_for("pippin: error: model gone: .*gone.mlpackage.*").group(0), "")


class Signals(ServeTest):
    def test_graceful_end(self):
        server = self.serve("--port", "0").ready()
        connection = server.connect()
        connection.request("POST", "/v1/chat/completions", json.dumps({**STORY, "stream": True, "max_tokens": 300,
                                                                       "ignore_eos": True}))
        answer = connection.getresponse()
        answer.read(10)
        server.process.send_signal(signal.SIGTERM)
        self.assertTrue(answer.read().endswith(b"data: [DONE]\n\n"))  # the answer was completed
        self.assertEqual(server.end(), 0)

    def test_second_signal_ends_at_once(self):
        server = self.serve("--port", "0", "--grace", "60").ready()
        connection = server.connect()
        connection.request("POST", "/v1/chat/completions",
                           json.dumps({**STORY, "stream": True, "ignore_eos": True, "n": 100}))
        connection.getresponse().read(10)
        start = time.monotonic()
        server.process.send_signal(signal.SIGINT)
        time.sleep(0.05)
        server.process.send_signal(signal.SIGINT)
        self.assertEqual(server.process.wait(timeout=30), 0)
        self.assertLess(time.monotonic() - start, 20)

    def test_keys_are_read_again(self):
        keys = self.path("keys")
        with open(keys, "w") as file:
            file.write("old\n")
        server = self.serve("--port", "0", "--api-key-file", keys).ready()
        self.assertEqual(server.ask(headers={"authorization": "Bearer old"})[0], 200)
        with open(keys, "w") as file:
            file.write("new\n")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("keys and certificates were read again")
        self.assertEqual(server.ask(headers={"authorization": "Bearer old"})[0], 401)
        self.assertEqual(server.ask(headers={"authorization": "Bearer new"})[0], 200)
        os.remove(keys)
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("the keys stay as they were")
        self.assertEqual(server.ask(headers={"authorization": "Bearer new"})[0], 200)


class Tls(ServeTest):
    def make_certificate(self, name):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=" + name,
                        "-addext", "subjectAltName=DNS:localhost", "-keyout", self.path("key.pem"), "-out",
                        self.path("cert.pem")], check=True, stderr=subprocess.DEVNULL)

    def subject(self, port):
        context = ssl.create_default_context(cafile=self.path("cert.pem"))
        with context.wrap_socket(socket.create_connection(("127.0.0.1", port)), server_hostname="localhost") as tls:
            tls.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            answer = b""
            while piece := tls.recv(4096):
                answer += piece
            self.assertTrue(answer.startswith(b"HTTP/1.1 "), answer)
            return dict(pair[0] for pair in tls.getpeercert()["subject"])["commonName"]

    @unittest.skipUnless(shutil.which("openssl"), "no openssl")
    def test_certificate_is_read_again(self):
        self.make_certificate("first")
        server = self.serve("--port", "0", "--tls-cert", self.path("cert.pem"), "--tls-key", self.path("key.pem"))
        port = server.port()
        self.assertEqual(self.subject(port), "first")
        self.make_certificate("second")
        server.process.send_signal(signal.SIGHUP)
        server.wait_for("were read again")
        self.assertEqual(self.subject(port), "second")
        # A client without TLS gets no answer and has no other effect.
        with socket.create_connection(("127.0.0.1", port)) as plain:
            plain.sendall(b"GET /health HTTP/1.1\r\n\r\n")
            plain.recv(100)
        self.assertEqual(self.subject(port), "second")

    def test_files_that_are_none(self):
        for name in ("cert.pem", "key.pem"):
            with open(self.path(name), "w") as file:
                file.write("nothing")
        server = self.serve("--port", "0", "--tls-cert", self.path("cert.pem"), "--tls-key", self.path("key.pem"))
        self.assertEqual(server.process.wait(timeout=30), 1)
        server.wait_for("pippin: error: .*cert.pem: not a certificate in PEM")


class Logs(ServeTest):
    def test_objects(self):
        server = self.serve("--port", "0", "--log-format", "json").ready()
        status, answer = server.ask("POST", "/v1/chat/completions", {**STORY, "max_tokens": 5})
        self.assertEqual(status, 200)
        line = json.loads(server.wait_for(r"\{.*/v1/chat/completions.*\}").group(0))
        self.assertEqual(line["request_id"], answer["id"].removeprefix("chatcmpl-"))
        self.assertEqual(line["gen_ai.usage.output_tokens"], 5)
        self.assertNotIn("fox", server.log())


class PromptCache(ServeTest):
    def first(self, server):
        _, answer = server.ask("POST", "/v1/chat/completions", {**STORY, "max_tokens": 30})
        return answer["choices"][0]["message"]["content"], answer["usage"]["prompt_tokens_details"]["cached_tokens"]

    def test_found_again_after_a_restart(self):
        arguments = ("--port", "0", "--cache-disk", self.path("cache"))
        server = self.serve(*arguments).ready()
        text, cached = self.first(server)
        self.assertEqual(cached, 0)
        self.assertEqual(self.first(server), (text, 17))
        self.assertEqual(server.end(), 0)
        server = self.serve(*arguments).ready()
        self.assertEqual(self.first(server), (text, 17))
        server.process.kill()
        self.assertEqual(server.process.wait(), -signal.SIGKILL)
        # Whatever was left: the next server starts.
        server = self.serve(*arguments).ready()
        self.assertEqual(self.first(server)[0], text)

    def test_none(self):
        server = self.serve("--port", "0", "--cache-ram", "0").ready()
        self.assertEqual(self.first(server), self.first(server))

    def test_sizes_that_are_none(self):
        for option, size in ("--cache-ram", "-1"), ("--cache-disk-size", "-1G"), ("--files-size", "M"), ("--stored-responses", "some"), ("--max-body", str(2**64)):
            server = self.serve("--port", "0", option, size)
            self.assertEqual(server.process.wait(timeout=30), 2)
            server.wait_for(f"{option}: {size} is not a size in bytes, such as 512M or 16G")


class Files(ServeTest):
    def setUp(self):
        super().setUp()
        demo = os.path.join(os.path.dirname(__file__), "..", "..", "pippin", "demo", "model")
        self.folder = shutil.copytree(demo, self.path("model"))
        self.weights = os.path.join(self.folder, "model.safetensors")
        with open(self.weights, "rb") as file:
            self.bytes = file.read()
        self.server = self.serve("--port", "0", "demo", f"own={self.folder}").ready()

    def chat(self, model, **more):
        return self.server.ask("POST", "/v1/chat/completions", {**STORY, "model": model, "max_tokens": 5, **more})

    def check_restored(self):
        """The other model answers; this one does as soon as its file is complete again."""
        self.assertEqual(self.chat("demo")[0], 200)
        status, answer = self.chat("own")
        self.assertEqual(status, 500)
        self.assertRegex(answer["error"]["message"], "^model own: .*model.safetensors: ")
        with open(self.weights, "r+b") as file:
            file.write(self.bytes)
        self.assertEqual(self.chat("own")[0], 200)
        self.assertEqual(self.server.end(), 0)

    def test_cut_off_during_an_answer(self):
        connection = self.server.connect()
        body = {**STORY, "model": "own", "stream": True, "ignore_eos": True, "n": 20}
        connection.request("POST", "/v1/chat/completions", json.dumps(body))
        answer = connection.getresponse()
        answer.read(10)
        os.truncate(self.weights, 4096)
        self.assertRegex(answer.read().decode(), r'"message":"model own: model\.safetensors can no longer be read: ')
        self.server.wait_for("model own: model.safetensors can no longer be read: ")
        self.check_restored()

    def test_cut_off_between_answers(self):
        self.assertEqual(self.chat("own")[0], 200)
        os.truncate(self.weights, 4096)
        self.check_restored()

    def test_written_over_between_answers(self):
        text = self.chat("own", ignore_eos=True)[1]["choices"][0]["message"]["content"]
        half = len(self.bytes) // 2
        with open(self.weights, "r+b") as file:
            file.seek(half)
            file.write(bytes(len(self.bytes) - half))
        self.assertNotEqual(self.chat("own", ignore_eos=True)[1]["choices"][0]["message"]["content"], text)
        self.server.wait_for("model own: model.safetensors was written to since it was loaded: it is loaded again")


if __name__ == "__main__":
    unittest.main()
