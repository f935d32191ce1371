#!/usr/bin/env python3
"""Models that a server's clients pull from the Hub, with ollama's /api/pull."""

import http.client
import json
import os
import re
import signal

from hub_testing import HubTest, ROOT, main


class Serving(HubTest):
    def setUp(self):
        super().setUp()
        source = os.path.join(ROOT, "pippin", "demo", "model")
        self.files = {name: self.read(source, name) for name in os.listdir(source)
                      if os.path.isfile(os.path.join(source, name))}
        self.add("org/stories", **self.files)

    def serve(self, *arguments):
        """The port of a server that ends with the test."""
        server = self.start("serve", "--port", "0", *arguments)
        self.addCleanup(server.communicate, timeout=30)
        self.addCleanup(server.send_signal, signal.SIGTERM)
        for line in server.stderr:
            found = re.search(r"listening at http://\S*:(\d+)", line)
            if found:
                self.port = int(found.group(1))
                return
        self.fail("the server does not listen")

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, path, body=None, method="POST"):
        connection = self.connect()
        connection.request("GET" if body is None else method, path, body and json.dumps(body))
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, [json.loads(line) for line in text.splitlines()]

    def names(self):
        return [model["name"] for model in self.ask("/api/tags")[1][0]["models"]]

    def test_pull_use_and_delete(self):
        self.serve("demo")
        status, lines = self.ask("/api/pull", {"model": "hf.co/org/stories"})
        self.assertEqual(status, 200)
        self.assertEqual(lines[0], {"status": "pulling manifest"})
        self.assertEqual(lines[-1], {"status": "success"})
        moving = [line for line in lines if "total" in line]
        self.assertTrue(moving)
        self.assertEqual(moving[-1]["completed"], moving[-1]["total"])
        self.assertGreater(len(moving[-1]["digest"]), 19)
        self.assertEqual(self.names(), ["demo:latest", "org/stories:latest"])
        status, [answer] = self.ask("/api/chat", {"model": "hf.co/org/stories:latest", "stream": False,
                                                  "options": {"num_predict": 3},
                                                  "messages": [{"role": "user", "content": "Hello"}]})
        self.assertEqual((status, answer["eval_count"]), (200, 3))
        # Again, from the cache: the answer comes at once.
        self.assertEqual(self.ask("/api/pull", {"name": "org/stories", "stream": False}), (200, [{"status": "success"}]))
        self.assertTrue(self.blobs("org/stories"))
        self.assertEqual(self.ask("/api/delete", {"model": "org/stories"}, "DELETE")[0], 200)
        self.assertEqual(self.names(), ["demo:latest"])
        self.assertEqual(self.blobs("org/stories"), [])

    def test_models_of_the_command_line_stay(self):
        self.serve("demo", "org/stories")
        self.assertEqual(self.names(), ["demo:latest"])  # the other one is not downloaded yet
        status, [answer] = self.ask("/api/show", {"model": "org/stories"})
        self.assertEqual(status, 404)
        self.assertIn("/api/pull", answer["error"])
        self.assertEqual(self.ask("/api/pull", {"model": "org/stories"})[1][-1], {"status": "success"})
        self.assertEqual(self.names(), ["demo:latest", "org/stories:latest"])
        status, [answer] = self.ask("/api/delete", {"model": "org/stories"}, "DELETE")
        self.assertEqual(status, 403)
        self.assertTrue(self.blobs("org/stories"))

    def test_what_fails_says_why(self):
        self.serve("demo")
        status, lines = self.ask("/api/pull", {"model": "org/gone"})
        self.assertEqual(status, 200)  # the stream had begun
        self.assertIn("org/gone", lines[-1]["error"])
        status, [answer] = self.ask("/api/pull", {"model": "org/gone", "stream": False})
        self.assertEqual(status, 404)
        self.assertIn("org/gone", answer["error"])
        self.assertEqual(self.names(), ["demo:latest"])

    def test_others_pull_nothing(self):
        self.serve("demo", "--host", "0.0.0.0", "--no-auth")
        status, [answer] = self.ask("/api/pull", {"model": "org/stories"})
        self.assertEqual(status, 403)
        self.assertEqual(self.blobs("org/stories"), [])


if __name__ == "__main__":
    main()
