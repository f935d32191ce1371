#!/usr/bin/env python3
"""pippin launch: a stand-in for each agent in PATH records how it was started.
PIPPIN=build/release/pippin/cli/pippin."""

import json
import os
import re
import subprocess
import tempfile
import unittest
import urllib.request

PIPPIN = os.environ.get("PIPPIN", "pippin")
# Writes its arguments and variables, and the models of the server that it was configured for.
STAND_IN = """#!/usr/bin/env python3
import json, os, sys, urllib.request
told = {"arguments": sys.argv[1:], "variables": dict(os.environ)}
url = os.environ.get("ANTHROPIC_BASE_URL")
if url:
    told["models"] = json.load(urllib.request.urlopen(url + "/v1/models"))
json.dump(told, open(os.environ["TOLD"], "w"))
sys.exit(7)
"""


class Launch(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.told = os.path.join(self.folder.name, "told.json")
        for name in ("claude", "codex", "opencode"):
            path = os.path.join(self.folder.name, name)
            with open(path, "w") as file:
                file.write(STAND_IN)
            os.chmod(path, 0o755)
        self.environment = {**os.environ, "PATH": self.folder.name + ":/usr/bin:/bin", "TOLD": self.told,
                            "ANTHROPIC_API_KEY": "of-another-server"}
        self.environment.pop("PIPPIN_API_KEY", None)

    def launch(self, *arguments, **more):
        return subprocess.run([PIPPIN, "launch", *arguments], env={**self.environment, **more}, capture_output=True,
                              text=True, timeout=60, stdin=subprocess.DEVNULL)

    def server(self):
        process = subprocess.Popen([PIPPIN, "serve", "mia=demo", "other=demo", "--port", "0", "--quiet"],
                                   stderr=subprocess.PIPE, text=True)

        def stop():
            process.terminate()
            process.wait()
            process.stderr.close()

        self.addCleanup(stop)
        url = re.search(r"listening at (\S+)", process.stderr.readline()).group(1)
        while True:
            try:
                urllib.request.urlopen(url + "/health").close()
                return url
            except urllib.error.HTTPError as error:
                error.close()

    def result(self):
        with open(self.told) as file:
            return json.load(file)

    def test_a_server_that_runs(self):
        url = self.server()
        ended = self.launch("claude", "--url", url + "/v1", "--", "-p", "Hello there")
        self.assertEqual(ended.returncode, 7, ended.stderr)
        told = self.result()
        self.assertEqual(told["arguments"], ["-p", "Hello there"])
        variables = told["variables"]
        self.assertEqual(variables["ANTHROPIC_BASE_URL"], url)
        self.assertEqual(variables["ANTHROPIC_MODEL"], "mia")
        self.assertEqual(variables["ANTHROPIC_DEFAULT_HAIKU_MODEL"], "mia")
        self.assertEqual(variables["ANTHROPIC_API_KEY"], "")
        self.assertEqual(variables["CLAUDE_CODE_MAX_CONTEXT_TOKENS"], "512")
        self.launch("codex", "--url", url, "--model", "other")
        self.assertIn('model="other"', self.result()["arguments"])
        self.assertIn(f'model_providers.pippin.base_url="{url}/v1"', self.result()["arguments"])
        self.launch("opencode", "--url", url, "--api-key", "k")
        config = json.loads(self.result()["variables"]["OPENCODE_CONFIG_CONTENT"])
        self.assertEqual(config["model"], "pippin/mia")
        self.assertEqual(config["provider"]["pippin"]["options"], {"baseURL": url + "/v1", "apiKey": "k"})

    def test_a_server_of_its_own(self):
        ended = self.launch("claude", "--own", "--model", "tale=demo")
        self.assertEqual(ended.returncode, 7, ended.stderr)
        told = self.result()
        self.assertEqual([model["id"] for model in told["models"]["data"]], ["tale"])
        self.assertEqual(told["variables"]["ANTHROPIC_MODEL"], "tale")

    def test_prints_the_command(self):
        url = self.server()
        printed = self.launch("claude", "--url", url, "--print")
        self.assertEqual(printed.returncode, 0, printed.stderr)
        again = subprocess.run(["sh", "-c", printed.stdout], env=self.environment, timeout=60)
        self.assertEqual(again.returncode, 7)
        self.assertEqual(self.result()["variables"]["ANTHROPIC_BASE_URL"], url)

    def test_errors(self):
        os.remove(os.path.join(self.folder.name, "codex"))
        absent = self.launch("codex")
        self.assertEqual(absent.returncode, 1)
        self.assertIn("Codex is not installed: no codex in PATH; to install it: npm install -g @openai/codex",
                      absent.stderr)
        unknown = self.launch("emacs")
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("claude", unknown.stderr)
        nowhere = self.launch("claude", "--url", "http://127.0.0.1:9")
        self.assertEqual(nowhere.returncode, 1)
        self.assertIn("127.0.0.1:9", nowhere.stderr)
        model = self.launch("claude", "--url", self.server(), "--model", "gone")
        self.assertIn('no model "gone", but mia, other', model.stderr)
        self.assertFalse(os.path.exists(self.told))
        self.assertIn("--url", self.launch("--help").stdout)


if __name__ == "__main__":
    unittest.main()
