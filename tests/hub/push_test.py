#!/usr/bin/env python3
"""pippin push: the repository's files, the contents that are sent, options, and messages."""

import json
import os

from hub_testing import MIB, main, noise
from push_testing import PACKAGE, WEIGHTS, PushTest


class Push(PushTest):
    def test_new_repository(self):
        result = self.push(self.folder, "org/new")
        repo = self.hub.repos["org/new"]
        self.assertEqual(self.files_of(), PACKAGE)
        self.assertTrue(repo.private)
        self.assertEqual((result["creates_repo"], result["private"], result["committed"]), (True, True, True))
        self.assertEqual(len(repo.history), 1)
        self.assertEqual(result["commit"], repo.refs["main"])
        self.assertEqual(repo.history[0][2]["summary"], "Push folder with pippin")
        self.assertIn(".gitattributes", repo.commits[repo.refs["main"]])  # the Hub's own
        changes = self.changes(result)
        self.assertEqual((changes[WEIGHTS], changes["config.json"], changes["empty.txt"]), ("lfs", "regular", "regular"))
        # In parts of 1 MiB, each once, and none in the commit's request.
        self.assertEqual(len(self.hub.requests(r"^cdn PUT /uploads/\d+/[1-9]")), 10)
        self.assertEqual(self.received(), result["sent"])
        self.assertEqual(result["sent"], sum(len(PACKAGE[path]) for path, how in changes.items() if how == "lfs"))
        self.assertEqual(os.listdir(os.path.join(self.home, "pippin")), ["push"])
        # A pull gets the same files.
        pulled = self.pull("org/new", "--include", "*")
        for path, content in PACKAGE.items():
            self.assertEqual(self.read(pulled["path"], path), content)

    def test_unchanged(self):
        first = self.push(self.folder, "org/new")
        self.hub.forget()
        again = self.push(self.folder, "org/new")
        self.assertEqual((again["committed"], again["commit"], again["sent"]), (False, first["commit"], 0))
        self.assertEqual(set(self.changes(again).values()), {"same"})
        self.assertEqual(self.hub.requests("commit|PUT"), [])

    def test_only_changes_are_sent(self):
        self.push(self.folder, "org/new")
        self.write({"config.json": b'{"model_type": "qwen2"}\n', "more/weight.bin": noise(MIB, 9)})
        self.hub.forget()
        result = self.push(self.folder, "org/new")
        changed = {path: how for path, how in self.changes(result).items() if how != "same"}
        self.assertEqual(changed, {"config.json": "regular", "more/weight.bin": "lfs"})
        self.assertEqual((self.received(), result["sent"]), (MIB, MIB))
        self.assertEqual(self.files_of()["config.json"], b'{"model_type": "qwen2"}\n')

    def test_same_size_other_content(self):
        self.push(self.folder, "org/new")
        content = bytearray(PACKAGE[WEIGHTS])
        content[-1] ^= 1
        self.write({WEIGHTS: bytes(content), "tokenizer.json": PACKAGE["tokenizer.json"].replace(b"1.0", b"1.1")})
        result = self.push(self.folder, "org/new")
        self.assertEqual({path for path, how in self.changes(result).items() if how != "same"},
                         {WEIGHTS, "tokenizer.json"})
        self.assertEqual(self.files_of()[WEIGHTS], bytes(content))

    def test_equal_contents_are_one_object(self):
        self.write({"copy/weight.bin": PACKAGE[WEIGHTS]})
        result = self.push(self.folder, "org/new")
        self.assertEqual(result["sent"], len(PACKAGE[WEIGHTS]) + 2 * MIB + 3000)
        self.assertEqual(self.files_of()["copy/weight.bin"], PACKAGE[WEIGHTS])

    def test_contents_that_the_server_has(self):
        self.push(self.folder, "org/new")
        self.hub.forget()
        self.assertEqual(self.push(self.folder, "org/other")["sent"], 0)
        self.assertEqual(self.files_of("org/other"), PACKAGE)

    def test_package(self):
        self.push(os.path.join(self.folder, "model.mlpackage"), "org/new")
        self.assertEqual(set(self.files_of()), {path for path in PACKAGE if path.startswith("model.mlpackage/")})
        self.push(os.path.join(self.folder, "model.mlpackage") + "/", "org/new", "--path-in-repo", "b/other.mlpackage")
        self.assertIn(WEIGHTS.replace("model", "b/other", 1), self.files_of())
        self.push(os.path.join(self.folder, "config.json"), "org/new")
        self.assertIn("config.json", self.files_of())

    def test_stale_files_of_a_package_are_deleted(self):
        self.push(self.folder, "org/new")
        os.remove(os.path.join(self.folder, WEIGHTS))
        os.remove(os.path.join(self.folder, "tokenizer.json"))
        result = self.push(self.folder, "org/new", "--include", "*.json")
        self.assertFalse(result["committed"])  # a choice of files deletes none
        changes = self.changes(self.push(self.folder, "org/new"))
        self.assertEqual(changes[WEIGHTS], "deleted")
        self.assertIn("tokenizer.json", self.files_of())  # not in a package
        self.push(self.folder, "org/new", "--delete", "token*")
        self.assertNotIn("tokenizer.json", self.files_of())

    def test_choice_of_files(self):
        self.write({".git/HEAD": b"x", ".cache/huggingface/y": b"x", ".DS_Store": b"x", "a.log": b"x",
                    ".gitignore": b"*.log\n", "sub/.git/HEAD": b"x", ".out.partial.1/output": b"x"})
        result = self.push(self.folder, "org/new", "--include", "*.json", "--include", "*.log", "--include", "*.git*",
                           "--exclude", "model.mlpackage/")
        self.assertEqual(set(self.files_of()), {"config.json", "tokenizer.json", ".gitignore"})
        self.assertEqual(self.changes(result)["a.log"], "ignored")

    def test_git_attributes_of_the_push(self):
        self.write({".gitattributes": b"*.json filter=lfs diff=lfs merge=lfs -text\n"})
        self.assertEqual(self.changes(self.push(self.folder, "org/new"))["config.json"], "lfs")

    def test_branch(self):
        self.push(self.folder, "org/new")
        head = self.hub.repos["org/new"].refs["main"]
        self.write({"config.json": b"{}"})
        result = self.push(self.folder, "org/new", "--revision", "int4", "-m", "Int4", "--commit-description", "Why")
        self.assertTrue(result["creates_branch"])
        self.assertEqual(self.hub.repos["org/new"].refs["main"], head)
        self.assertEqual(self.files_of(ref="int4")["config.json"], b"{}")
        self.assertEqual(self.hub.repos["org/new"].history[-1][2],
                         {"summary": "Int4", "description": "Why", "parentCommit": head})

    def test_pull_request(self):
        self.push(self.folder, "org/new")
        head = self.hub.repos["org/new"].refs["main"]
        self.write({"config.json": b"{}"})
        result = self.push(self.folder, "org/new", "--create-pr")
        self.assertEqual(result["pull_request"], self.hub.endpoint + "/org/new/discussions/1")
        self.assertEqual(self.hub.repos["org/new"].refs["main"], head)
        self.assertEqual(self.files_of(ref="refs/pr/1")["config.json"], b"{}")
        self.write({"config.json": b"{ }"})
        self.push(self.folder, "org/new", "--revision", "refs/pr/1")
        self.assertEqual(self.files_of(ref="refs/pr/1")["config.json"], b"{ }")
        self.fail_with('no branch or pull request "refs/pr/7"', "push", self.folder, "org/new", "--revision", "refs/pr/7")

    def test_dry_run(self):
        result = self.push(self.folder, "org/new", "--dry-run")
        self.assertEqual(set(self.changes(result).values()), {"new"})
        self.assertTrue(result["creates_repo"])
        self.assertEqual(self.hub.repos, {})
        self.push(self.folder, "org/new")
        before = dict(self.hub.repos["org/new"].refs)
        self.write({"config.json": b"{}"})
        self.hub.forget()
        status, out, err = self.run_pippin("push", self.folder, "org/new", "--dry-run", "--revision", "next")
        self.assertEqual(status, 0, err)
        self.assertIn("regular        2 B  config.json\n", out)
        self.assertIn("would push 1 of 7 files, 2 B; creates the branch", err)
        self.assertEqual(self.hub.repos["org/new"].refs, before)
        self.assertEqual(self.hub.requests("commit|batch|PUT|branch"), [])

    def test_plain_output(self):
        status, out, err = self.run_pippin("push", self.folder, "org/new", "--public")
        self.assertEqual(status, 0, err)
        commit = self.hub.repos["org/new"].refs["main"]
        self.assertEqual(out, "%s/org/new/commit/%s\n" % (self.hub.endpoint, commit))
        self.assertRegex(err, r"org/new@main \(new, public\): 7 of 7 files, 11.5 MB, 11.5 MB sent in")
        self.assertFalse(self.hub.repos["org/new"].private)
        status, out, err = self.run_pippin("push", self.folder, "org/new", "-q")
        self.assertEqual((status, out, err), (0, commit + "\n", ""))

    def test_name_alone_and_urls(self):
        self.assertEqual(self.push(self.folder, "new")["repo"], "org/new")
        self.assertFalse(self.push(self.folder, self.hub.endpoint + "/org/new")["committed"])

    def test_token_of_a_file(self):
        self.write({"token": b"hf_good\n"}, self.home)
        token = self.environment.pop("HF_TOKEN")
        self.push(self.folder, "org/new")
        self.write({"another": b"hf_good"}, self.home)
        self.write({"token": b"wrong"}, self.home)
        self.push(self.folder, "org/b", HF_TOKEN_PATH=os.path.join(self.home, "another"))
        self.environment["HF_TOKEN"] = token
        self.assertEqual(self.push(self.folder, "org/c", "--token", "hf_good", HF_TOKEN="wrong")["repo"], "org/c")

    def test_hashes_are_noted(self):
        self.push(self.folder, "org/new")
        notes = [json.loads(self.read(self.notes, name)) for name in os.listdir(self.notes)]
        self.assertEqual([note["file"] for note in notes], [os.path.join(self.folder, WEIGHTS)])
        self.assertEqual(os.stat(self.notes).st_mode & 0o777, 0o700)
        # A wrong note is used: the file is not read again. (Then the server rejects what it gets.)
        name = os.path.join(self.notes, os.listdir(self.notes)[0])
        notes[0]["sha256"] = "0" * 64
        with open(name, "w") as file:
            json.dump(notes[0], file)
        self.fail_with("Invalid SHA-256", "push", self.folder, "org/other")
        self.assertEqual(self.hub.repos["org/other"].history, [])
        # Of another time, it is not.
        os.utime(os.path.join(self.folder, WEIGHTS))
        self.push(self.folder, "org/other")


class Refused(PushTest):
    def test_no_token(self):
        del self.environment["HF_TOKEN"]
        for options in ([], ["--dry-run"]):
            self.fail_with("a push needs a token", "push", self.folder, "org/new", *options)

    def test_arguments_are_checked_before_the_settings(self):
        del self.environment["HF_TOKEN"]
        for environment in ({}, {"HF_HUB_OFFLINE": "1"}):
            for options in ([], ["--dry-run"]):
                self.fail_with("/absent: No such file or directory", "push", self.folder + "/absent", "org/new", *options,
                               **environment)
                self.fail_with('"a/b/c" is not a repository: org/name', "push", self.folder, "a/b/c", *options, **environment)
                self.fail_with('--revision: "a b" is not a branch', "push", self.folder, "org/new", "--revision", "a b",
                               *options, **environment)
        self.assertEqual(self.hub.requests(""), [])

    def test_wrong_token(self):
        self.fail_with("does not know the token of HF_TOKEN", "push", self.folder, "org/new", HF_TOKEN="hf_wrong")

    def test_no_permission(self):
        line = self.fail_with("You don't have the rights to create a model under the namespace \"org\"",
                              "push", self.folder, "org/new", HF_TOKEN="hf_other")
        self.assertIn("org/new: cannot be created: 127.0.0.1 refuses with 403", line)
        self.add("org/public", **{"a.json": b"{}"})
        self.fail_with("the token of HF_TOKEN must be able to write", "push", self.folder, "org/public",
                       HF_TOKEN="hf_other")
        self.assertEqual(self.hub.repos["org/public"].history, [])

    def test_quota(self):
        self.hub.uploads.storage_limit = 5 * MIB
        self.fail_with("Private repository storage limit reached", "push", self.folder, "org/new")
        self.hub.uploads.storage_limit = None
        self.hub.add_rule("/commit/", status=413, body=b'{"error": "The commit is too large"}')
        self.fail_with("org/new: the commit: 127.0.0.1 answers with status 413: The commit is too large", "push", self.folder, "org/new")
        self.assertEqual(self.hub.repos["org/new"].history, [])

    def test_xet_alone(self):
        self.hub.uploads.transfer = "xet"
        self.fail_with('by the transfer "xet" only (supported: basic, multipart)', "push", self.folder, "org/new",
                       status=3)
        self.assertEqual(self.hub.repos["org/new"].history, [])

    def test_visibility_of_an_existing_repository(self):
        self.push(self.folder, "org/new")
        self.fail_with("org/new is private; change that at", "push", self.folder, "org/new", "--public")

    def test_moved_branch(self):
        self.push(self.folder, "org/new")
        self.write({"config.json": b"{}"})
        self.hub.add_rule("/commit/", status=412, headers={"X-Error-Message": "A commit has happened since."})
        self.fail_with('branch "main" has changed during the push (412 A commit has happened since.)', "push",
                       self.folder, "org/new")
        self.push(self.folder, "org/new")

    def test_offline_and_bad_names(self):
        self.fail_with("HF_HUB_OFFLINE is set", "push", self.folder, "org/new", HF_HUB_OFFLINE="1")
        self.fail_with("is not a repository: org/name", "push", self.folder, "a/b/c")
        self.fail_with('--revision: "a..b/../c" is not a branch', "push", self.folder, "org/new", "--revision",
                       "a..b/../c")
        self.fail_with("No such file or directory", "push", self.folder + "/absent", "org/new")
        self.fail_with("no files that --include and --exclude leave", "push", self.folder, "org/new", "--include", "x")
        os.symlink(self.folder, os.path.join(self.folder, "loop"))
        self.fail_with("loop: a link to a folder", "push", self.folder, "org/new")

    def test_not_a_hub(self):
        self.hub.add_rule("preupload", status=200, body=b"<html>Log in</html>")
        self.fail_with("not an answer of the Hub", "push", self.folder, "org/new")
        self.hub.add_rule("batch", status=200, body=b'{"objects": []}')
        self.fail_with("does not say where", "push", self.folder, "org/new")


if __name__ == "__main__":
    main()
