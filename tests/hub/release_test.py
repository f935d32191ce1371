#!/usr/bin/env python3
"""pippin card and pippin release, from the demo model on the Hub of the tests to a published repository; the scripts of
the GitHub action, with stand-ins for gh and downloads.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import tarfile
import time

from hub_testing import PIPPIN, ROOT, main
from push_testing import PushTest

ACTION = os.path.join(ROOT, ".github", "actions", "release")
RECIPE = """\
source: org/stories
repo: org/stories-coreml
variants:
  fp16: {context: 128}
  int8: {quantize: int8, context: 128}
  phone: {family: windowed, context: 128}
verify: {text: sample.txt, max-kl: 0.05, greedy: 8}
doctor: {target: ios18}
bench: {n-prompt: 16, n-gen: 8, repetitions: 2}
"""


class ReleaseTest(PushTest):
    def setUp(self):
        super().setUp()
        source = os.path.join(ROOT, "pippin", "demo", "model")
        files = {name: self.read(source, name) for name in os.listdir(source)}
        files["README.md"] = b"---\nlicense: mit\nlanguage:\n- en\ntags: [x]\n---\n# Stories\n"
        self.add("org/stories", **files)
        self.write({"sample.txt": b"Once upon a time there was a dog who liked to play with a red ball.\n" * 3,
                    "recipe.yaml": RECIPE.encode()}, self.home)
        self.recipe = os.path.join(self.home, "recipe.yaml")
        self.records = os.path.join(self.home, "recipe-release", "records")

    def release(self, *arguments, status=0, **environment):
        """The report of a release that ends with this status."""
        got, out, err = self.run_pippin("release", self.recipe, "--json", *arguments, **environment)
        self.assertEqual(got, status, err)
        return json.loads(out)

    def rewrite(self, old, new):
        text = self.read(self.recipe).decode()
        self.assertIn(old, text)
        self.write({"recipe.yaml": text.replace(old, new).encode()}, self.home)

    def reused(self, report):
        return {step["step"] for variant in report["variants"] for step in variant["steps"] if step["reused"]}


class Release(ReleaseTest):
    def test_all_of_it(self):
        report = self.release()
        self.assertTrue(report["passed"])
        self.assertEqual(report["commit"], self.hub.repos["org/stories"].refs["main"])
        self.assertEqual([variant["path"] for variant in report["variants"]],
                         ["fp16.mlpackage", "int8.mlpackage", "phone"])
        files = self.files_of("org/stories-coreml")
        card = files["README.md"].decode()
        for part in ("base_model: org/stories\nbase_model_relation: quantized\nlibrary_name: coremltools\n",
                     "license: mit\nlanguage:\n- en\n", "- \"int8: linear\"\n",
                     "[org/stories](https://huggingface.co/org/stories)", "## Agreement with the base model",
                     "## Speed", "pippin run org/stories-coreml/int8.mlpackage "):
            self.assertIn(part, card)
        # The measured numbers, and no others.
        for variant in report["variants"]:
            steps = {step["step"].split(".")[1]: step["result"] for step in variant["steps"]}
            self.assertIn("| `%s` | %d | %.5f |" % (variant["name"], steps["verify"]["tokens"],
                                                    steps["verify"]["mean_kl"]), card)
            speeds = [result["median_tokens_per_second"] for result in steps["bench"]["results"]]
            self.assertIn("%.1f (16 tokens) | %.1f (8 tokens)" % tuple(speeds), card)
        # The pushed packages run.
        status, out, err = self.run_pippin("run", "org/stories-coreml/int8.mlpackage", "--temp", "0", "-n", "5", "Once")
        self.assertEqual(status, 0, err)
        # Again: nothing is measured, nothing is committed.
        history = len(self.hub.repos["org/stories-coreml"].history)
        again = self.release()
        self.assertEqual(len(self.reused(again)), 12)
        self.assertEqual(len(self.hub.repos["org/stories-coreml"].history), history)
        # One variant changes: the others are kept.
        self.rewrite("int8, context: 128", "int8, context: 64")
        changed = self.release("--no-push")
        self.assertEqual(self.reused(changed), {name + step for name in ("fp16", "phone")
                                                for step in (".convert", ".verify", ".doctor", ".bench")})
        # A variant that is gone is not pushed.
        self.rewrite("  phone: {family: windowed, context: 128}\n", "")
        self.release("--no-push")
        self.assertEqual(sorted(os.listdir(os.path.join(self.home, "recipe-release", "repo"))),
                         ["README.md", "fp16.mlpackage", "int8.mlpackage"])

    def test_gates(self):
        self.rewrite("  phone: {family: windowed, context: 128}\n", "")
        self.rewrite("max-kl: 0.05", "max-kl: 1e-9")
        self.rewrite("repetitions: 2", "repetitions: 2, min-tokens-per-second: 1e9")
        self.rewrite("target: ios18", "target: ios18, fail-on: warning")
        markdown = os.path.join(self.home, "summary.md")
        report = self.release("--markdown", markdown, status=6)
        self.assertFalse(report["passed"])
        self.assertIn("int8.verify: ", "\n".join(report["failures"]))
        self.assertNotIn("org/stories-coreml", self.hub.repos)
        summary = self.read(markdown).decode()
        self.assertIn("### Release of org/stories as org/stories-coreml: failed", summary)
        self.rewrite("max-kl: 1e-9", "max-kl: 1")
        self.assertIn("warning ", "\n".join(self.release(status=7)["failures"]))
        self.rewrite(", fail-on: warning", "")
        report = self.release(status=8)
        self.assertIn("tokens per second, at least", report["failures"][0])
        self.assertNotIn("org/stories-coreml", self.hub.repos)

    def test_a_step_that_fails(self):
        self.rewrite("int8, context: 128", "int8, context: 100000000000")
        report = self.release(status=1)
        self.assertEqual([variant["passed"] for variant in report["variants"]], [True, False, True])
        self.assertNotIn("org/stories-coreml", self.hub.repos)
        self.hub.add_rule("revision", times=1000, status=404, headers={"X-Error-Code": "RevisionNotFound"})
        self.assertIn("pull: status 1", self.release(status=1, HF_HOME=self.home + "/other")["failures"][0])
        self.rewrite("quantize:", "quantise:")
        self.fail_with("recipe.yaml: variants.int8.quantise: pippin convert has no option --quantise", "release",
                       self.recipe)

    def test_interrupted(self):
        process = self.start("release", self.recipe)
        end = time.monotonic() + 60
        steps = os.path.join(self.records, "steps.json")
        while time.monotonic() < end and not (os.path.exists(steps) and b"int8.convert" in self.read(steps)):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, err)
        self.assertNotIn("org/stories-coreml", self.hub.repos)
        report = self.release()
        self.assertGreaterEqual(self.reused(report), {"fp16.convert", "fp16.verify", "fp16.doctor", "fp16.bench",
                                                      "int8.convert"})
        self.assertIn("int8.mlpackage/Manifest.json", self.files_of("org/stories-coreml"))

    def test_local_source(self):
        folder = os.path.join(self.home, "local")
        shutil.copytree(os.path.join(ROOT, "pippin", "demo", "model"), folder)
        self.rewrite("source: org/stories", "source: local")
        self.rewrite("repo: org/stories-coreml\n", "")
        self.assertTrue(self.release()["passed"])
        self.assertEqual(list(self.hub.repos), ["org/stories"])
        card = self.read(self.home, "recipe-release", "repo", "README.md").decode()
        self.assertIn("license: apache-2.0\n", card)  # of the folder's README.md
        self.assertIn("# recipe\n", card)
        self.assertNotIn("base_model", card)


class Card(ReleaseTest):
    def test_reports(self):
        package = os.path.join(self.home, "m", "int8.mlpackage")
        os.makedirs(os.path.dirname(package))
        source = os.path.join(ROOT, "pippin", "demo", "model")
        self.assertEqual(self.run_pippin("convert", source, "-o", package, "--quantize", "int8")[0], 0)
        verify = self.run_pippin("verify", package, "--against", source, "--text", self.home + "/sample.txt", "--json")
        self.write({"verify.json": verify[1].encode(), "old.json": b"{}"}, self.home)
        status, out, err = self.run_pippin("card", os.path.join(self.home, "m"), "--verify", self.home + "/verify.json",
                                           "--license", "mit", "--base", "org/stories")
        self.assertEqual((status, err), (0, ""))
        self.assertIn("| `int8` | %d |" % json.loads(verify[1])["tokens"], out)
        self.assertIn("# m\n", out)
        self.fail_with("not a dated report", "card", package, "--verify", self.home + "/old.json")
        self.fail_with('a report of "x", which is not one of the models "int8"', "card", package, "--verify",
                       "x=" + self.home + "/verify.json")
        status, _, err = self.run_pippin("card", package)
        self.assertEqual((status, err), (0, "pippin: the card has no license: --license ID, or --base-card with one\n"))


class Action(ReleaseTest):
    def setUp(self):
        super().setUp()
        self.bin = os.path.join(self.home, "bin")
        self.outputs = os.path.join(self.home, "outputs")
        # gh keeps one comment in a file; curl copies the release.
        self.write({
            "bin/gh": b"""#!/bin/bash
case "$*" in
*--paginate*) [ -f "$HOME/comment" ] && echo 7; exit 0 ;;
*PATCH*comments/7*|*POST*issues/3/comments*) echo "$3" >>"$HOME/methods"; cp "${6#body=@}" "$HOME/comment" ;;
*) exit 1 ;;
esac
""",
            "bin/curl": b'#!/bin/bash\nwhile [ "$1" != -o ]; do shift; done\necho "$3" >"$HOME/url"; cp "$HOME/release.tar.xz" "$2"\n',
        }, self.home)
        for name in os.listdir(self.bin):
            os.chmod(os.path.join(self.bin, name), 0o755)

    def script(self, name, **environment):
        environment = {**self.environment, "PATH": self.bin + ":" + os.environ["PATH"], "RUNNER_TEMP": self.home,
                       "GITHUB_OUTPUT": self.outputs, "GITHUB_SERVER_URL": "https://github.com", "RECIPE": self.recipe,
                       **environment}
        process = subprocess.run(["bash", os.path.join(ACTION, name)], env=environment, capture_output=True, text=True)
        written = self.read(self.outputs).decode() if os.path.exists(self.outputs) else ""
        return process, dict(line.split("=", 1) for line in written.splitlines())

    def test_scripts(self):
        self.rewrite("  phone: {family: windowed, context: 128}\n", "")
        process, outputs = self.script("run.sh", PROGRAM=PIPPIN, PUSH="false", HF_TOKEN="hf_good")
        self.assertEqual((process.returncode, outputs["status"]), (0, "0"), process.stderr)
        self.assertNotIn("org/stories-coreml", self.hub.repos)
        for _ in range(2):
            process, _ = self.script("comment.sh", REPOSITORY="a/b", NUMBER="3", SUMMARY=outputs["summary"])
            self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(self.read(self.home, "methods"), b"POST\nPATCH\n")
        comment = self.read(self.home, "comment").decode()
        self.assertTrue(comment.startswith("<!-- pippin release %s -->\n### Release of org/stories" % self.recipe))
        self.rewrite("max-kl: 0.05", "max-kl: 1e-9")
        process, outputs = self.script("run.sh", PROGRAM=PIPPIN, PUSH="true", HF_TOKEN="hf_good")
        self.assertEqual(outputs["status"], "6")
        self.assertIn("failed", self.read(outputs["summary"]).decode())
        process, outputs = self.script("run.sh", PROGRAM=PIPPIN, PUSH="true", HF_TOKEN="", RECIPE="/absent.yaml")
        self.assertEqual(outputs["status"], "1")
        self.assertIn("### Release by /absent.yaml: error", self.read(outputs["summary"]).decode())

    def test_install(self):
        name = "pippin-0.1.0-linux-" + os.uname().machine
        program = os.path.join(self.home, name, "bin", "pippin")
        self.write({os.path.join(name, "bin", "pippin"): b"#!/bin/bash\necho pippin 0.1.0\n"}, self.home)
        os.chmod(program, 0o755)
        archive = os.path.join(self.home, "release.tar.xz")
        with tarfile.open(archive, "w:xz") as tar:
            tar.add(os.path.join(self.home, name), name)
        sha256 = hashlib.sha256(self.read(archive)).hexdigest()
        process, outputs = self.script("install.sh", PROGRAM="", VERSION="0.1.0", SHA256=sha256, REPOSITORY="a/b")
        self.assertEqual((process.returncode, process.stdout), (0, "pippin 0.1.0\n"), process.stderr)
        self.assertEqual(outputs["output"], os.path.join(self.home, "recipe-release"))
        self.assertEqual(self.read(self.home, "url").decode().strip(),
                         "https://github.com/a/b/releases/download/v0.1.0/%s.tar.xz" % name)
        process, _ = self.script("install.sh", PROGRAM="", VERSION="0.1.0", SHA256="0" * 64, REPOSITORY="a/b")
        self.assertNotEqual(process.returncode, 0)
        process, _ = self.script("install.sh", PROGRAM="", VERSION="0.1.0", SHA256="", REPOSITORY="a/b")
        self.assertEqual(process.returncode, 2)

    def test_everything_is_pinned(self):
        text = self.read(ACTION, "action.yml").decode()
        for line in text.splitlines():
            if "uses:" in line:
                self.assertRegex(line, r"@[0-9a-f]{40} # v\d")
        for name in ("install.sh", "run.sh", "comment.sh"):
            self.assertTrue(os.access(os.path.join(ACTION, name), os.X_OK))
            self.assertIn("/%s\"" % name, text)


if __name__ == "__main__":
    main()
