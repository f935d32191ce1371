"""Shared by the tests of `pippin push`: folders to push, and comparisons with the repository."""

import json
import os

from hub_testing import HubTest, MIB, noise

WEIGHTS = "model.mlpackage/Data/com.apple.CoreML/weights/weight.bin"
PACKAGE = {
    "model.mlpackage/Manifest.json": b'{"fileFormatVersion": "1.0.0"}\n',
    "model.mlpackage/Data/com.apple.CoreML/model.mlmodel": noise(3000, 5),
    WEIGHTS: noise(9 * MIB + 77, 6),
    "config.json": b'{"model_type": "llama"}\n',
    "tokenizer.json": b'{"version": "1.0"}\n' * 100,
    "second/weights/weight.bin": noise(2 * MIB, 7),
    "empty.txt": b"",
}


class PushTest(HubTest):
    def setUp(self):
        super().setUp()
        self.folder = os.path.join(self.home, "folder")
        self.notes = os.path.join(self.home, "pippin", "push")
        self.environment["PIPPIN_CACHE"] = os.path.join(self.home, "pippin")
        self.write(PACKAGE)

    def write(self, files, folder=None):
        for path, content in files.items():
            place = os.path.join(folder or self.folder, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "wb") as file:
                file.write(content)

    def push(self, *arguments, **environment):
        """A successful push: its --json output."""
        status, out, err = self.run_pippin("push", *arguments, "--json", **environment)
        self.assertEqual(status, 0, err)
        return json.loads(out)

    def files_of(self, name="org/new", ref="main"):
        """{path: content} of a branch, without the Hub's own .gitattributes."""
        repo = self.hub.repos[name]
        blobs = repo.commits[repo.refs[ref]]
        return {path: blob.read(0, blob.size) for path, blob in blobs.items() if path != ".gitattributes"}

    def received(self):
        """Bytes of contents that arrived completely, by object or part."""
        return sum(entry.get("received", 0) for entry in self.hub.requests("^cdn PUT"))

    def changes(self, result):
        return {file["path"]: file["change"] for file in result["files"]}
