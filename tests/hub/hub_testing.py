"""Shared by the tests of the Hub commands: hub_server.py, a separate cache, and the
program, PIPPIN=build/release/pippin/cli/pippin. Each *_test.py runs alone: NAME_test.py [CLASS[.TEST]...]
"""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
import testing  # noqa: E402
from hub_server import Hub, Repo, git_hash  # noqa: E402

PIPPIN = os.environ.get("PIPPIN", "pippin")
ROOT = testing.ROOT
MIB = 1 << 20
SEED = int(os.environ.get("SEED", random.randrange(1 << 30)))


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


class HubTest(unittest.TestCase):
    def setUp(self):
        self.hub = Hub()
        self.addCleanup(self.hub.close)
        self.home = tempfile.mkdtemp(prefix="pippin-hub-")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.cache = os.path.join(self.home, "hub")
        # Without the machine's own settings.
        keep = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH", "ASAN_OPTIONS") if name in os.environ}
        self.environment = {**keep, "HF_HOME": self.home, "HF_ENDPOINT": self.hub.endpoint, "HF_TOKEN": "hf_good",
                            "HOME": self.home, "no_proxy": "*"}

    def add(self, name="org/model", **files):
        repo = self.hub.repos[name] = Repo({path: content for path, content in files.items()})
        return repo

    def start(self, *arguments, **environment):
        return subprocess.Popen([PIPPIN, *arguments], env={**self.environment, **environment}, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_pippin(self, *arguments, **environment):
        process = self.start(*arguments, **environment)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def pull(self, *arguments, **environment):
        """A successful pull: its --json output."""
        status, out, err = self.run_pippin("pull", *arguments, "--json", **environment)
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def fail_with(self, part, *arguments, status=1, **environment):
        """Expects one line on stderr that contains `part` (apart from retry notices), and nothing on stdout."""
        got, out, err = self.run_pippin(*arguments, **environment)
        self.assertEqual((got, out), (status, ""), err)
        lines = [line for line in err.splitlines() if line.startswith("pippin: error: ")]
        self.assertEqual(len(lines), 1, err)
        self.assertIn(part, lines[0])
        self.assertNotIn("hf_good", err)
        return lines[0]

    def repo_folder(self, name="org/model"):
        return os.path.join(self.cache, "models--" + name.replace("/", "--"))

    def blobs(self, name="org/model"):
        folder = os.path.join(self.repo_folder(name), "blobs")
        return sorted(os.listdir(folder)) if os.path.isdir(folder) else []

    def read(self, *parts):
        with open(os.path.join(*parts), "rb") as file:
            return file.read()

    def check_whole(self, repo, names, name="org/model", commit=None):
        """The snapshot has exactly these files with their content; the cache has nothing else."""
        commit = commit or repo.refs["main"]
        folder = self.repo_folder(name)
        snapshot = os.path.join(folder, "snapshots", commit)
        found = sorted(os.path.relpath(os.path.join(parent, file), snapshot)
                       for parent, _, files in os.walk(snapshot) for file in files)
        self.assertEqual(found, sorted(names))
        blobs = repo.commits[commit]
        for file in names:
            path = os.path.join(snapshot, file)
            self.assertEqual(os.path.realpath(path), os.path.join(os.path.realpath(folder), "blobs", blobs[file].etag))
            self.assertFalse(os.path.isabs(os.readlink(path)))
            content = self.read(path)
            self.assertEqual(len(content), blobs[file].size)
            etag = hashlib.sha256(content).hexdigest() if blobs[file].lfs else git_hash(content)
            self.assertEqual(etag, blobs[file].etag)
        self.assertEqual(self.blobs(name), sorted({blobs[file].etag for file in names}))


def main():
    """Runs the tests of the program."""
    print("SEED=%d" % SEED, file=sys.stderr)
    testing.main()
