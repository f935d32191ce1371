#!/usr/bin/env python3
"""Two replicas of pippin serve behind HAProxy, with the configuration of packaging/replicas: conversations stay at their
replica, and requests without an answer survive the end of one. PIPPIN=build/release/pippin/cli/pippin
"""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

from command_test import Server

CONFIGURATION = Path(__file__).resolve().parents[2] / "packaging" / "replicas"
SYSTEM = {"role": "system", "content": "Answer in one word."}


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


def conversation(number, turns=0):
    asked = [{"role": "user", "content": [{"type": "text", "text": f"Question {number}?"}]}]
    return {"messages": [SYSTEM, *asked, *[{"role": "assistant", "content": "Yes."}, {"role": "user", "content": "And?"}] * turns]}


class Replicas(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="pippin-replicas-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.port = free_port()
        self.servers = {}
        for name in "ab":
            server = self.servers[name] = Server("--port", "0", "--grace", "30", "--log-format", "json")
            self.addCleanup(lambda server=server: (server.process.poll() is None and server.process.kill(), server.end()))
        self.start_proxy()

    def start_proxy(self):
        text = (CONFIGURATION / "haproxy.cfg").read_text().replace("bind :8080", f"bind 127.0.0.1:{self.port}")
        (self.folder / "haproxy.cfg").write_text(text)
        ports = {name: server.port() for name, server in self.servers.items()}
        text = re.sub(r"server (\w) \S+", lambda found: f"server {found[1]} 127.0.0.1:{ports[found[1]]}",
                      (CONFIGURATION / "servers.cfg").read_text())
        (self.folder / "servers.cfg").write_text(text)
        command = ["haproxy", "-f", self.folder / "haproxy.cfg", "-f", self.folder / "servers.cfg"]
        for server in self.servers.values():
            server.ready()
        proxy = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(proxy.wait)
        self.addCleanup(proxy.terminate)
        end = time.monotonic() + 30
        while time.monotonic() < end and {self.replica({"prompt": str(i)}) for i in range(16)} != {"a", "b"}:
            time.sleep(0.1)

    def post(self, body, path="/v1/chat/completions"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
        return connection.getresponse()

    def replica(self, body, path="/v1/completions"):
        try:
            answer = self.post({"max_tokens": 1, **body}, path)
            answer.read()
            return answer.getheader("x-replica") if answer.status == 200 else answer.status
        except OSError as error:  # before the proxy listens
            return str(error)

    def test_conversations_stay(self):
        chosen = [{self.replica(conversation(i, turns), "/v1/chat/completions") for turns in range(3)} for i in range(12)]
        self.assertTrue(all(len(one) == 1 for one in chosen), chosen)
        self.assertEqual(set().union(*chosen), {"a", "b"})
        inputs = [{self.replica({"input": [{"role": "user", "content": f"Question {i}?"}], "max_output_tokens": 1},
                                "/v1/responses") for _ in range(2)} for i in range(8)]
        self.assertTrue(all(len(one) == 1 for one in inputs), inputs)
        keyed = {self.replica({"prompt_cache_key": "one", **conversation(i)}, "/v1/chat/completions") for i in range(8)}
        self.assertEqual(len(keyed), 1)

    def ask_until(self, event, results):
        """Streams answers one after the other; an answer that had begun may end early."""
        number = 0
        while not event.is_set():
            number += 1
            begun = False
            try:
                answer = self.post({**conversation(f"{threading.get_ident()} {number}"), "stream": True, "max_tokens": 24,
                                    "ignore_eos": True})
                begun = answer.status == 200
                done = answer.read().endswith(b"data: [DONE]\n\n")
                results.append("done" if done else "cut" if begun else answer.status)
            except (OSError, http.client.HTTPException) as error:
                results.append("cut" if begun else repr(error))

    def load(self, end_one):
        event, results = threading.Event(), []
        threads = [threading.Thread(target=self.ask_until, args=(event, results)) for _ in range(8)]
        for thread in threads:
            thread.start()
        time.sleep(1)
        end_one()
        time.sleep(3)
        event.set()
        for thread in threads:
            thread.join()
        return results

    def test_a_killed_replica_loses_only_begun_answers(self):
        results = self.load(self.servers["a"].process.kill)
        self.assertGreater(results.count("done"), 8)
        self.assertLessEqual(results.count("cut"), 8)  # one of each client
        self.assertEqual(set(results) - {"done", "cut"}, set())

    def test_a_replica_that_ends_gracefully_loses_nothing(self):
        results = self.load(lambda: self.servers["b"].process.send_signal(signal.SIGTERM))
        self.assertEqual(set(results), {"done"})
        self.assertEqual(self.servers["b"].process.wait(timeout=40), 0)
        self.assertEqual({self.replica(conversation(i), "/v1/chat/completions") for i in range(8)}, {"a"})


class Files(unittest.TestCase):
    def test_configurations_are_valid(self):
        for servers in ("servers.cfg", "kubernetes.cfg"):
            result = subprocess.run(["haproxy", "-c", "-f", CONFIGURATION / "haproxy.cfg", "-f", CONFIGURATION / servers],
                                    capture_output=True, text=True)
            self.assertEqual(result.returncode, 0, result.stderr)


if __name__ == "__main__":
    os.environ.setdefault("PIPPIN", "pippin")
    if shutil.which("haproxy"):
        unittest.main()
    else:
        print("skipped: haproxy is not installed")
