#!/usr/bin/env python3
"""A Hugging Face Hub on loopback, for tests: the part of the API that huggingface_hub uses, and a second server
(another port, so another host) to which large files are redirected, as to a CDN. hub_uploads.py has the writing part.

    hub_server.py FOLDER    serves FOLDER/org/name/... as repositories until it is ended, files of
                            64 KB and more through the second server; prints HF_ENDPOINT=...

Tests use the class Hub: repositories in memory, rules that make answers fail, and a log of all
requests. It uses only Python's standard library.
"""

import hashlib
import json
import os
import re
import socket
import ssl
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from hub_uploads import Uploads, WritingHandler

CHUNK = 256 * 1024
LFS_BYTES = 64 * 1024


def git_hash(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Blob:
    """A file's content: bytes, or a file on disk (then its SHA-256 may be known already)."""

    def __init__(self, content=None, path=None, lfs=None, sha256=None):
        self.content, self.path = content, path
        self.size = len(content) if path is None else os.path.getsize(path)
        self.lfs = self.size >= LFS_BYTES if lfs is None else lfs
        if self.lfs:
            self.etag = sha256 or self._sha256()
            self.oid = git_hash(b"version https://git-lfs.github.com/spec/v1\noid sha256:%s\n" % self.etag.encode())
        else:
            self.etag = self.oid = git_hash(self.read(0, self.size))

    def _sha256(self):
        digest = hashlib.sha256()
        for begin in range(0, self.size, CHUNK):
            digest.update(self.read(begin, min(begin + CHUNK, self.size)))
        return digest.hexdigest()

    def read(self, begin, end):
        if self.path is None:
            return self.content[begin:end]
        with open(self.path, "rb") as file:
            file.seek(begin)
            return file.read(end - begin)

    def entry(self, path):
        entry = {"type": "file", "path": path, "size": self.size, "oid": self.oid}
        if self.lfs:
            entry["lfs"] = {"oid": self.etag, "size": self.size, "pointerSize": 134}
        return entry


class Repo:
    def __init__(self, files, commit=None, private=False, gated=False):
        self.private, self.gated = private, gated
        self.commits, self.refs = {}, {}
        self.history = []  # (ref, commit, header) of each commit by the API
        self.update(files, commit=commit)

    def update(self, files, ref="main", commit=None):
        """A new commit with these files (path -> Blob or bytes); the ref moves there."""
        blobs = {path: blob if isinstance(blob, Blob) else Blob(blob) for path, blob in files.items()}
        if commit is None:
            text = json.dumps(sorted((path, blob.etag) for path, blob in blobs.items()))
            commit = hashlib.sha1(text.encode()).hexdigest()
        self.commits[commit] = blobs
        self.refs[ref] = commit
        return commit

    def find(self, revision):
        if revision in self.refs:
            return self.refs[revision]
        fitting = [commit for commit in self.commits if commit.startswith(revision) and len(revision) >= 7]
        return fitting[0] if fitting else None


class Rule:
    """Makes the next `times` requests whose "SERVER METHOD PATH" matches fail.

    status=, headers=      this answer instead (body=)
    cut=N                  the connection ends after N bytes of the body
    stall=S                nothing comes for S seconds, after `cut` bytes or at once
    slow=S                 S seconds before each chunk of CHUNK bytes
    drip=S                 S seconds before each byte
    corrupt=True           a bit of the body is wrong
    length=N               Content-Length is N more than the body
    no_ranges=True         Range is ignored
    content_range=TEXT     this header on a 206
    replace={NAME: VALUE}  headers on an otherwise right answer (None: without it)
    location=URL           a redirect there
    lost=True              the request is served, but the connection ends without an answer
    hangup=N               the connection ends after N bytes of the request's body
    """

    def __init__(self, pattern, times=1, skip=0, **what):
        self.pattern, self.times, self.skip, self.what = re.compile(pattern), times, skip, what

    def __getattr__(self, name):
        return self.what.get(name)


class Hub:
    """`certificate`: a PEM file with a key and a certificate; both servers speak TLS then."""

    def __init__(self, certificate=None):
        self.repos, self.renamed = {}, {}
        self.tokens = {"hf_good": {"*"}, "hf_other": set()}  # token -> gated and private repositories
        self.page_size = 1000
        self.rules, self.log, self.lock = [], [], threading.Lock()
        self.blobs, self.signatures = {}, {}
        self.uploads = Uploads()
        self.signature_uses = None  # a signature is valid for this many requests
        self.servers = []
        for name in ("hub", "cdn"):
            server = Server(("127.0.0.1", 0), Handler)
            server.hub, server.name = self, name
            if certificate:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(certificate)
                server.socket = context.wrap_socket(server.socket, server_side=True)
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
            self.servers.append(server)
        scheme = "https" if certificate else "http"
        self.endpoint, self.cdn = ("%s://127.0.0.1:%d" % (scheme, server.server_port) for server in self.servers)

    def close(self):
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def add_rule(self, *arguments, **what):
        with self.lock:
            self.rules.append(Rule(*arguments, **what))

    def rule_for(self, line):
        with self.lock:
            for rule in self.rules:
                if rule.times > 0 and rule.pattern.search(line):
                    if rule.skip > 0:
                        rule.skip -= 1
                        continue
                    rule.times -= 1
                    return rule
        return None

    def requests(self, pattern=""):
        with self.lock:
            return [entry for entry in self.log if re.search(pattern, entry["line"])]

    def forget(self):
        with self.lock:
            self.log.clear()
            self.rules.clear()

    def content_bytes(self):
        """The number of bytes of files' contents sent."""
        return sum(entry["sent"] for entry in self.requests(r"^cdn|resolve"))

    def sign(self, blob):
        with self.lock:
            number = len(self.signatures)
            self.signatures[str(number)] = self.signature_uses
            self.blobs[blob.etag] = blob
        return "%s/blobs/%s?signature=%d" % (self.cdn, blob.etag, number)

    def use_signature(self, number):
        with self.lock:
            if number not in self.signatures:
                return False
            left = self.signatures[number]
            if left is None:
                return True
            self.signatures[number] = left - 1
            return left > 0


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (ConnectionError, BrokenPipeError, TimeoutError)):
            super().handle_error(request, client_address)


class Handler(WritingHandler, BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.handle_request()

    def do_GET(self):
        self.handle_request()

    def handle_request(self, *rule):
        self.hub = self.server.hub
        line = "%s %s %s" % (self.server.name, self.command, self.path)
        self.entry = {
            "line": line,
            "range": self.headers.get("Range"),
            "authorization": self.headers.get("Authorization"),
            "time": time.monotonic(),
            "sent": 0,
        }
        with self.hub.lock:
            self.hub.log.append(self.entry)
        self.rule = rule[0] if rule else self.hub.rule_for(line)
        if self.rule and self.rule.status:
            return self.answer(self.rule.status, self.rule.body or b"", self.rule.headers or {})
        if self.rule and self.rule.location:
            return self.answer(302, b"", {"Location": self.rule.location})
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        path = urllib.parse.unquote(url.path)
        if self.command in ("POST", "PUT"):
            return self.serve_writing(url, query) or self.error(404, "", "Not Found")
        if url.path == "/api/whoami-v2":
            return self.serve_whoami()
        if self.server.name == "cdn":
            return self.serve_cdn(path, query)
        for pattern, serve in (
            (r"^/api/models/([^/]+/[^/]+)/revision/([^/]+)$", self.serve_revision),
            (r"^/api/models/([^/]+/[^/]+)/tree/([^/]+)$", self.serve_tree),
            (r"^/api/models/([^/]+/[^/]+)()$", self.serve_revision),
        ):
            match = re.match(pattern, url.path)
            if match:
                repo, revision = (urllib.parse.unquote(text) for text in match.groups())
                return serve(repo, revision or "main", query)
        match = re.match(r"^/([^/]+/[^/]+)/resolve/([^/]+)/(.+)$", path)
        if match:
            return self.serve_resolve(*match.groups())
        match = re.match(r"^/api/resolve-cache/models/([^/]+/[^/]+)/([^/]+)/(.+)$", path)
        if match:
            return self.serve_cached(*match.groups())
        self.error(404, "", "Not Found")

    # Access rights.
    def find_repo(self, name):
        if name in self.hub.renamed:
            new = self.path.replace(name, self.hub.renamed[name], 1)
            self.answer(307, b"", {"Location": new})
            return None
        authorization = self.headers.get("Authorization", "")
        token = authorization[7:] if authorization.startswith("Bearer ") else ""
        if token and token not in self.hub.tokens:
            self.error(401, "", "Invalid credentials in Authorization header")
            return None
        access = self.hub.tokens.get(token, set())
        allowed = "*" in access or name in access
        repo = self.hub.repos.get(name)
        if repo is None or (repo.private and not allowed):
            self.error(404 if token else 401, "RepoNotFound", "Repository not found")
            return None
        if repo.gated and not allowed and not self.path.startswith("/api/models/%s/revision" % name):
            self.error(403 if token else 401, "GatedRepo", "Access to model %s is restricted." % name)
            return None
        return repo

    def serve_revision(self, name, revision, query):
        repo = self.find_repo(name)
        if repo is None:
            return
        commit = repo.find(revision)
        if commit is None:
            return self.error(404, "RevisionNotFound", "Invalid rev id: %s" % revision)
        siblings = []
        for path, blob in repo.commits[commit].items():
            sibling = {"rfilename": path}
            if query.get("blobs"):
                sibling.update(size=blob.size, blobId=blob.oid)
                if blob.lfs:
                    sibling["lfs"] = {"sha256": blob.etag, "size": blob.size, "pointerSize": 134}
            siblings.append(sibling)
        self.json({"id": name, "sha": commit, "private": repo.private, "gated": repo.gated, "siblings": siblings})

    def serve_tree(self, name, revision, query):
        repo = self.find_repo(name)
        if repo is None:
            return
        commit = repo.find(revision)
        if commit is None:
            return self.error(404, "RevisionNotFound", "Invalid rev id: %s" % revision)
        files = repo.commits[commit]
        entries = [blob.entry(path) for path, blob in files.items()]
        folders = {path.rsplit("/", 1)[0] for path in files if "/" in path}
        entries = [{"type": "directory", "path": path, "size": 0, "oid": "0" * 40} for path in sorted(folders)] + entries
        if query.get("recursive") != "true":
            entries = [entry for entry in entries if "/" not in entry["path"]]
        begin = int(query.get("cursor", 0))
        end = begin + self.hub.page_size
        headers = {}
        if end < len(entries):
            url = "%s/api/models/%s/tree/%s?recursive=true&expand=false&cursor=%d" % (self.hub.endpoint, name, revision, end)
            headers["Link"] = '<%s>; rel="next"' % url
        self.json(entries[begin:end], headers)

    def find_file(self, name, revision, path):
        repo = self.find_repo(name)
        if repo is None:
            return None, None
        commit = repo.find(revision)
        if commit is None:
            self.error(404, "RevisionNotFound", "Invalid rev id: %s" % revision)
            return None, None
        blob = repo.commits[commit].get(path)
        if blob is None:
            self.error(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": commit})
        return commit, blob

    def serve_resolve(self, name, revision, path):
        commit, blob = self.find_file(name, revision, path)
        if blob is None:
            return
        headers = {"X-Repo-Commit": commit, "X-Linked-Size": str(blob.size), "X-Linked-Etag": '"%s"' % blob.etag}
        if blob.lfs:
            headers["Location"] = self.hub.sign(blob)
            return self.answer(302, b"Found", headers)
        quoted = urllib.parse.quote(path)
        headers["Location"] = "/api/resolve-cache/models/%s/%s/%s?etag=%s" % (name, commit, quoted, blob.etag)
        self.answer(307, b"", headers)

    def serve_cached(self, name, revision, path):
        commit, blob = self.find_file(name, revision, path)
        if blob is not None:
            self.content(blob, {"X-Repo-Commit": commit, "ETag": '"%s"' % blob.etag})

    def serve_cdn(self, path, query):
        blob = self.hub.blobs.get(path.rsplit("/", 1)[-1])
        if blob is None or not self.hub.use_signature(query.get("signature")):
            return self.answer(403, b"<Error>Request has expired</Error>", {})
        self.content(blob, {"ETag": '"another-etag"', "Accept-Ranges": "bytes"})

    # Answers.
    def error(self, status, code, message, headers=None):
        headers = dict(headers or {})
        headers.update({"X-Error-Code": code, "X-Error-Message": message} if code else {"X-Error-Message": message})
        self.answer(status, json.dumps({"error": message}).encode(), headers)

    def json(self, value, headers=None):
        self.answer(200, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})})

    def content(self, blob, headers):
        begin, end, status = 0, blob.size, 200
        wanted = re.match(r"bytes=(\d+)-(\d*)$", self.headers.get("Range") or "")
        if wanted and not (self.rule and self.rule.no_ranges):
            begin = int(wanted.group(1))
            end = min(int(wanted.group(2)) + 1 if wanted.group(2) else blob.size, blob.size)
            if begin >= blob.size:
                return self.answer(416, b"", {"Content-Range": "bytes */%d" % blob.size})
            status = 206
            headers = {**headers, "Content-Range": "bytes %d-%d/%d" % (begin, end - 1, blob.size)}
            if self.rule and self.rule.content_range:
                headers["Content-Range"] = self.rule.content_range
        self.answer(status, None, headers, blob, begin, end)

    def answer(self, status, body, headers, blob=None, begin=0, end=0):
        rule = self.rule
        if rule and rule.lost:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        if blob is None:
            end = len(body)
        headers = {"Content-Length": str(end - begin + ((rule and rule.length) or 0)), **headers}
        if rule and rule.replace:
            headers.update(rule.replace)
        self.send_response(status)
        for name, value in headers.items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        stop = end if not rule or rule.cut is None else min(end, begin + rule.cut)
        if rule and rule.stall and rule.cut is None:
            time.sleep(rule.stall)
        if blob is not None and blob.path is not None and not rule and not isinstance(self.connection, ssl.SSLSocket):
            self.wfile.flush()
            with open(blob.path, "rb") as file:
                self.entry["sent"] += self.connection.sendfile(file, begin, stop - begin)
            return
        chunk = 1 if rule and rule.drip else CHUNK
        for position in range(begin, stop, chunk):
            upto = min(position + chunk, stop)
            data = body[position:upto] if blob is None else blob.read(position, upto)
            if rule and rule.corrupt and position == begin and data:
                data = bytes([data[0] ^ 1]) + data[1:]
            if rule and (rule.slow or rule.drip):
                time.sleep(rule.slow or rule.drip)
            self.wfile.write(data)
            self.entry["sent"] += len(data)
        if rule and (rule.cut is not None or rule.length):
            self.wfile.flush()
            if rule.stall:
                time.sleep(rule.stall)
            self.close_connection = True
            try:
                self.connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    hub = Hub()
    root = sys.argv[1]
    for organisation in sorted(os.listdir(root)):
        for name in sorted(os.listdir(os.path.join(root, organisation))):
            folder = os.path.join(root, organisation, name)
            files = {}
            for parent, _, names in os.walk(folder):
                for file in names:
                    path = os.path.join(parent, file)
                    files[os.path.relpath(path, folder)] = Blob(path=path)
            hub.repos["%s/%s" % (organisation, name)] = Repo(files)
    print("HF_ENDPOINT=" + hub.endpoint, flush=True)
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        hub.close()


if __name__ == "__main__":
    main()
