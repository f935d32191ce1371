"""The writing part of hub_server.py: repositories, branches, preupload, Git LFS (basic and in parts), commits.

Large contents go to the second server, at addresses that are valid for one object, as to S3. Nothing but a commit
changes a branch, and a commit is applied under one lock.
"""

import base64
import fnmatch
import hashlib
import json
import re
import time
import urllib.parse

GIT_ATTRIBUTES = b"".join(b"%s filter=lfs diff=lfs merge=lfs -text\n" % name for name in (
    b"*.bin", b"*.safetensors", b"*.mlmodel", b"*.npz", b"*.gguf", b"*tfevents*"))
CHUNK = 256 * 1024


class Uploads:
    """Contents at the servers apart from repositories: LFS objects and unfinished uploads."""

    def __init__(self):
        self.objects = {}  # SHA-256 -> bytes
        self.uploads = {}  # number -> {"oid", "size", "parts": {number: bytes}, "open"}
        self.writers = {"hf_good": {"*"}}  # token -> organizations
        self.users = {"hf_good": "org", "hf_other": "other"}
        self.multipart_bytes = 4 << 20  # larger objects come in parts of part_bytes
        self.part_bytes = 1 << 20
        self.transfer = None  # offered instead of basic and multipart
        self.storage_limit = None  # bytes of LFS contents


class WritingHandler:
    """Mixed into the Handler of hub_server.py."""

    def do_POST(self):
        self.read_body()

    def do_PUT(self):
        self.read_body()

    def read_body(self):
        """Reads the body, slowly or in part if a rule wants that, and answers."""
        line = "%s %s %s" % (self.server.name, self.command, self.path)
        rule = self.server.hub.rule_for(line)
        left, parts = int(self.headers.get("Content-Length", 0)), []
        while left > 0 and not (rule and rule.hangup is not None and sum(map(len, parts)) >= rule.hangup):
            data = self.rfile.read(min(CHUNK, left))
            if not data:
                break
            parts.append(data)
            left -= len(data)
            if rule and rule.slow:
                time.sleep(rule.slow)
        self.body = b"".join(parts)
        if left > 0:  # the client, or the rule, has ended it
            self.close_connection = True
            return
        self.handle_request(rule)

    def serve_writing(self, url, query):
        """Serves POST and PUT. Returns False for unknown paths."""
        if self.server.name == "cdn":
            return self.serve_content(url.path, query)
        for pattern, serve in (
            (r"^/api/repos/create$", self.serve_create),
            (r"^/api/models/([^/]+/[^/]+)/branch/([^/]+)$", self.serve_branch),
            (r"^/api/models/([^/]+/[^/]+)/preupload/([^/]+)$", self.serve_preupload),
            (r"^/api/models/([^/]+/[^/]+)/commit/([^/]+)$", self.serve_commit),
            (r"^/([^/]+/[^/]+)\.git/info/lfs/objects/batch$", self.serve_batch),
            (r"^/([^/]+/[^/]+)\.git/info/lfs/verify$", self.serve_verify),
            (r"^/lfs/complete/(\d+)$", self.serve_complete),
        ):
            match = re.match(pattern, url.path)
            if match:
                serve(*(urllib.parse.unquote(text) for text in match.groups()))
                return True
        return False

    # Access rights.
    def token(self):
        authorization = self.headers.get("Authorization", "")
        return authorization[7:] if authorization.startswith("Bearer ") else ""

    def may_write(self, name):
        if self.token() not in self.hub.tokens:
            self.error(401, "", "Invalid credentials in Authorization header")
            return False
        organizations = self.hub.uploads.writers.get(self.token(), set())
        if "*" not in organizations and name.split("/")[0] not in organizations:
            self.error(403, "", "You don't have the rights to create a model under the namespace \"%s\""
                       % name.split("/")[0])
            return False
        return True

    def json_body(self, kind="application/json"):
        assert self.headers["Content-Type"] == kind, self.headers["Content-Type"]
        return json.loads(self.body)

    def serve_whoami(self):
        user = self.hub.uploads.users.get(self.token())
        if user is None:
            return self.error(401, "", "Invalid credentials in Authorization header")
        self.json({"type": "user", "name": user, "auth": {"type": "access_token"}})

    def serve_create(self):
        from hub_server import Repo
        asked = self.json_body()
        name = "%s/%s" % (asked["organization"], asked["name"])
        if not self.may_write(name):
            return
        with self.hub.lock:
            exists = name in self.hub.repos
            if not exists:
                self.hub.repos[name] = Repo({".gitattributes": GIT_ATTRIBUTES}, private=asked["private"])
        if exists:
            return self.error(409, "", "You already created this model repo")
        self.json({"url": "%s/%s" % (self.hub.endpoint, name), "name": name})

    def serve_branch(self, name, branch):
        if not self.may_write(name):
            return
        repo = self.find_repo(name)
        if repo is None:
            return
        if branch in repo.refs:
            return self.error(409, "", "Reference already exists")
        repo.refs[branch] = repo.refs["main"]
        self.json({})

    def find_commit(self, name, revision):
        """(repository, commit), or None after an error."""
        repo = self.find_repo(name)
        if repo is None:
            return None
        commit = repo.find(revision)
        if commit is None:
            self.error(404, "RevisionNotFound", "Invalid rev id: %s" % revision)
            return None
        return repo, commit

    def serve_preupload(self, name, revision):
        if not self.may_write(name):
            return
        found = self.find_commit(name, revision)
        if found is None:
            return
        repo, commit = found
        asked = self.json_body()
        files = repo.commits[commit]

        def rules(member, path):
            text = asked.get(member)
            if text is None and path in files:
                text = files[path].read(0, files[path].size).decode()
            return [line for line in (text or "").splitlines() if line and not line.startswith("#")]

        lfs = [line.split()[0] for line in rules("gitAttributes", ".gitattributes") if "filter=lfs" in line]
        ignored = rules("gitIgnore", ".gitignore")
        answer = []
        for file in asked["files"]:
            sample = base64.b64decode(file["sample"], validate=True)
            assert len(sample) == min(file["size"], 512)
            base = file["path"].rsplit("/", 1)[-1]
            large = any(fnmatch.fnmatch(base, rule) or fnmatch.fnmatch(file["path"], rule) for rule in lfs)
            large = large or b"\0" in sample or file["size"] > 10 << 20
            answer.append({"path": file["path"], "uploadMode": "lfs" if large else "regular",
                           "shouldIgnore": any(fnmatch.fnmatch(base, rule) for rule in ignored),
                           "oid": files[file["path"]].oid if file["path"] in files else None})
        self.json({"files": answer})

    # Git LFS.
    def serve_batch(self, name):
        if not self.may_write(name) or self.find_repo(name) is None:
            return
        asked = self.json_body("application/vnd.git-lfs+json")
        assert asked["operation"] == "upload" and asked["hash_algo"] == "sha256"
        assert self.headers["Accept"] == "application/vnd.git-lfs+json"
        uploads, objects, multipart = self.hub.uploads, [], False
        assert set(asked["transfers"]) >= {"basic", "multipart"}
        for one in asked["objects"]:
            answer = {"oid": one["oid"], "size": one["size"]}
            objects.append(answer)
            if one["oid"] in uploads.objects:
                continue
            if uploads.storage_limit is not None and one["size"] > uploads.storage_limit:
                answer["error"] = {"code": 413, "message": "Private repository storage limit reached"}
                continue
            with self.hub.lock:
                number = len(uploads.uploads) + 1
                uploads.uploads[number] = {"oid": one["oid"], "size": one["size"], "parts": {}, "open": True}
            verify = {"href": "%s/%s.git/info/lfs/verify" % (self.hub.endpoint, name), "header": {"X-Verify": "1"}}
            if one["size"] > uploads.multipart_bytes:
                multipart = True
                count = -(-one["size"] // uploads.part_bytes)
                header = {"chunk_size": str(uploads.part_bytes)}
                header.update({"%05d" % i: "%s/uploads/%d/%d?signature=s" % (self.hub.cdn, number, i)
                               for i in range(1, count + 1)})
                upload = {"href": "%s/lfs/complete/%d?signature=s" % (self.hub.endpoint, number), "header": header}
            else:
                upload = {"href": "%s/uploads/%d/0?signature=s" % (self.hub.cdn, number),
                          "header": {"X-Amz-Storage": "standard"}}
            answer["actions"] = {"upload": upload, "verify": verify}
        answer = {"transfer": uploads.transfer or ("multipart" if multipart else "basic"), "objects": objects}
        self.answer(200, json.dumps(answer).encode(), {"Content-Type": "application/vnd.git-lfs+json"})

    def serve_content(self, path, query):
        match = re.match(r"^/uploads/(\d+)/(\d+)$", path)
        upload = self.hub.uploads.uploads.get(int(match.group(1))) if match else None
        if upload is None or not upload["open"] or query.get("signature") != "s" or self.command != "PUT":
            self.answer(403, b"<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>", {})
            return True
        assert "Authorization" not in self.headers  # the token is the Hub's alone
        self.entry["received"] = len(self.body)
        part = int(match.group(2))
        if part == 0:
            assert self.headers["X-Amz-Storage"] == "standard"
            if hashlib.sha256(self.body).hexdigest() != upload["oid"]:
                self.answer(400, b"<Error><Code>BadDigest</Code></Error>", {})
                return True
            self.hub.uploads.objects[upload["oid"]] = self.body
        else:
            begin = (part - 1) * self.hub.uploads.part_bytes
            assert len(self.body) == min(self.hub.uploads.part_bytes, upload["size"] - begin)
            upload["parts"][part] = self.body
        self.answer(200, b"", {"ETag": '"%s"' % hashlib.md5(self.body).hexdigest()})
        return True

    def serve_complete(self, number):
        asked = self.json_body("application/vnd.git-lfs+json")
        upload = self.hub.uploads.uploads[int(number)]
        parts = [upload["parts"].get(one["partNumber"]) for one in asked["parts"]]
        etags = ['"%s"' % hashlib.md5(part or b"").hexdigest() for part in parts]
        content = b"".join(part or b"" for part in parts)
        if not upload["open"] or None in parts or etags != [one["etag"] for one in asked["parts"]]:
            return self.error(400, "", "Invalid parts")
        if hashlib.sha256(content).hexdigest() != upload["oid"]:
            return self.error(400, "", "Invalid SHA-256")
        upload["open"] = False
        self.hub.uploads.objects[upload["oid"]] = content
        self.json({})

    def serve_verify(self, name):
        asked = self.json_body("application/vnd.git-lfs+json")
        assert self.headers["X-Verify"] == "1"
        if not self.may_write(name):
            return
        content = self.hub.uploads.objects.get(asked["oid"])
        if content is None or len(content) != asked["size"]:
            return self.error(404, "", "Object not found")
        self.json({})

    # Commits.
    def serve_commit(self, name, revision):
        from hub_server import Blob
        query = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query))
        if not self.may_write(name):
            return
        found = self.find_commit(name, revision)
        if found is None:
            return
        repo = found[0]
        assert self.headers["Content-Type"] == "application/x-ndjson"
        lines = [json.loads(line) for line in self.body.decode().splitlines()]
        header = lines[0]
        assert header["key"] == "header" and header["value"]["summary"]
        with self.hub.lock:
            head = repo.refs[revision]
            if header["value"].get("parentCommit", head) != head:
                return self.error(412, "", "A commit has happened since. Please refresh and try again.")
            files = dict(repo.commits[head])
            for line in lines[1:]:
                value = line["value"]
                if line["key"] == "file":
                    assert value["encoding"] == "base64"
                    files[value["path"]] = Blob(base64.b64decode(value["content"], validate=True), lfs=False)
                elif line["key"] == "lfsFile":
                    content = self.hub.uploads.objects.get(value["oid"])
                    if content is None or value["algo"] != "sha256" or len(content) != value["size"]:
                        return self.error(400, "", "LFS pointer points to a file that does not exist")
                    files[value["path"]] = Blob(content, lfs=True, sha256=value["oid"])
                elif line["key"] == "deletedFile":
                    del files[value["path"]]
                else:
                    raise AssertionError(line["key"])
            ref = revision
            answer = {"success": True}
            if query.get("create_pr") == "1":
                number = sum(name.startswith("refs/pr/") for name in repo.refs) + 1
                ref = "refs/pr/%d" % number
                answer["pullRequestUrl"] = "%s/%s/discussions/%d" % (self.hub.endpoint, name, number)
            commit = hashlib.sha1(("%s %d %s" % (head, len(repo.history), header)).encode()).hexdigest()
            repo.update(files, ref=ref, commit=commit)
            repo.history.append((ref, commit, header["value"]))
            answer.update(commitOid=commit, commitUrl="%s/%s/commit/%s" % (self.hub.endpoint, name, commit))
        self.json(answer)
