#!/usr/bin/env python3
"""Certificates and proxies, as in curl; secrets are sent only to the right hosts."""

import os
import shutil
import socket
import subprocess
import time

from hub_server import Hub
from hub_testing import HubTest, MIB, main, noise
from proxy_server import Proxy


def make_certificate(path, *names):
    """A new key and a certificate signed with it, in one file."""
    subject = ",".join(("IP:" if name[0].isdigit() else "DNS:") + name for name in names)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=pippin test",
                    "-addext", "subjectAltName=" + subject, "-keyout", path + ".key", "-out", path + ".crt"],
                   check=True, capture_output=True)
    with open(path, "wb") as file:
        for part in (path + ".key", path + ".crt"):
            with open(part, "rb") as source:
                file.write(source.read())
    return path + ".crt"


class NetworkTest(HubTest):
    def setUp(self):
        super().setUp()
        del self.environment["no_proxy"]
        self.environment["PIPPIN_HUB_RETRIES"] = "1"
        self.files = {"config.json": b"{}", "model.safetensors": noise(7 * MIB)}

    def serve(self, hub):
        self.addCleanup(hub.close)
        self.hub = hub
        self.environment["HF_ENDPOINT"] = hub.endpoint
        self.repo = self.add(**self.files)

    def check(self, **environment):
        self.pull("org/model", **environment)
        self.check_whole(self.repo, sorted(self.files))
        shutil.rmtree(self.cache)


class Certificates(NetworkTest):
    def setUp(self):
        super().setUp()
        self.pem = os.path.join(self.home, "server.pem")
        self.certificate = make_certificate(self.pem, "localhost", "127.0.0.1")
        self.serve(Hub(self.pem))

    def test_one_that_nobody_signed(self):
        begin = time.monotonic()
        line = self.fail_with("certificate", "pull", "org/model", PIPPIN_HUB_RETRIES="6")
        self.assertIn("CURL_CA_BUNDLE", line)
        self.assertLess(time.monotonic() - begin, 5)  # retrying does not help
        self.assertEqual(self.hub.requests(), [])
        self.assertFalse(os.path.exists(self.cache))

    def test_one_that_the_environment_names(self):
        for name in ("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"):
            self.check(**{name: self.certificate})
        for entry in self.hub.requests():
            expected = "Bearer hf_good" if entry["line"].startswith("hub") else None
            self.assertEqual(entry["authorization"], expected, entry["line"])
        self.assertTrue(self.hub.requests("^cdn"))

    def test_a_folder_of_them(self):
        folder = os.path.join(self.home, "certificates")
        os.mkdir(folder)
        digest = subprocess.run(["openssl", "x509", "-noout", "-hash", "-in", self.certificate], check=True, text=True,
                                capture_output=True).stdout.strip()
        shutil.copy(self.certificate, os.path.join(folder, digest + ".0"))
        self.check(SSL_CERT_DIR=folder)
        self.check(CURL_CA_BUNDLE=folder)

    def test_the_first_name_counts(self):
        other = make_certificate(os.path.join(self.home, "other.pem"), "localhost", "127.0.0.1")
        self.fail_with("certificate", "pull", "org/model", CURL_CA_BUNDLE=other, SSL_CERT_FILE=self.certificate)
        self.check(CURL_CA_BUNDLE="", SSL_CERT_FILE=self.certificate)

    def test_one_for_another_host(self):
        pem = os.path.join(self.home, "elsewhere.pem")
        certificate = make_certificate(pem, "elsewhere.test")
        self.serve(Hub(pem))
        self.fail_with("127.0.0.1", "pull", "org/model", CURL_CA_BUNDLE=certificate, PIPPIN_HUB_RETRIES="6")
        self.assertEqual(self.hub.requests(), [])

    def test_files_that_are_none(self):
        nothing = os.path.join(self.home, "none.crt")
        self.fail_with(nothing, "pull", "org/model", CURL_CA_BUNDLE=nothing, PIPPIN_HUB_RETRIES="6")
        with open(nothing, "w") as file:
            file.write("no certificate")
        self.fail_with(nothing, "pull", "org/model", CURL_CA_BUNDLE=nothing, PIPPIN_HUB_RETRIES="6")

    def test_what_speaks_no_tls(self):
        plain = Hub()
        self.addCleanup(plain.close)
        self.fail_with("127.0.0.1", "pull", "org/model", HF_ENDPOINT=plain.endpoint.replace("http:", "https:"))

    def test_no_way_from_https_to_http(self):
        plain = Hub()
        self.addCleanup(plain.close)
        trusted = {"CURL_CA_BUNDLE": self.certificate}
        for pattern in ("revision", "tree", "resolve/.*config", "^cdn"):
            self.hub.add_rule(pattern, location=plain.endpoint + "/steal")
            line = self.fail_with("from https to http", "pull", "org/model", **trusted)
            self.assertIn("127.0.0.1", line)
            self.hub.forget()
            # A file that was complete before the error would not be requested again.
            shutil.rmtree(self.cache, ignore_errors=True)
        self.assertEqual(plain.requests(), [])
        self.check(**trusted)

    def test_the_token_stays_with_the_scheme_and_the_port(self):
        other = Hub(self.pem)
        self.addCleanup(other.close)
        for location in (other.endpoint, self.hub.endpoint.replace("127.0.0.1", "localhost")):
            self.hub.add_rule("resolve/.*config", location=location + "/steal")
            self.run_pippin("pull", "org/model", CURL_CA_BUNDLE=self.certificate)
            shutil.rmtree(self.cache, ignore_errors=True)
        stolen = other.requests("steal") + self.hub.requests("steal")
        self.assertGreaterEqual(len(stolen), 2)
        for entry in stolen:
            self.assertIsNone(entry["authorization"])


class Names(NetworkTest):
    """Host names that do not resolve."""

    NOWHERE = {"HF_ENDPOINT": "http://no-such-host.invalid", "PIPPIN_HUB_RETRIES": "6"}

    def setUp(self):
        super().setUp()
        self.environment["no_proxy"] = "*"
        self.serve(Hub())

    def run_timed(self, *arguments, **environment):
        """As run_pippin; the name is looked up once, however long that takes here, without a retry. The least of several
        times counts: a resolver may lose a packet."""
        for is_last in False, False, True:
            begin = time.monotonic()
            with self.assertRaises(OSError):
                socket.getaddrinfo("no-such-host.invalid", 80)
            look_up = time.monotonic() - begin
            begin = time.monotonic()
            result = self.run_pippin(*arguments, **environment)
            took = time.monotonic() - begin
            self.assertNotIn("again in", result[2])
            if took < 2 * look_up + 3:
                break
            self.assertFalse(is_last, f"{took} s, {look_up} s to look the name up")
        return result

    def check_refusal(self, result):
        status, out, err = result
        self.assertEqual((status, out), (1, ""), err)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn("no-such-host.invalid", err)
        self.assertIn("no network, or a wrong name", err)

    def test_nothing_is_cached(self):
        self.check_refusal(self.run_timed("pull", "org/model", **self.NOWHERE))
        self.check_refusal(self.run_timed("run", "org/model", "Once", **self.NOWHERE))
        self.assertFalse(os.path.exists(self.cache))

    def test_a_proxy(self):
        proxy = {"http_proxy": "http://no-such-host.invalid:3128", "no_proxy": "", "PIPPIN_HUB_RETRIES": "6"}
        self.check_refusal(self.run_timed("pull", "org/model", **proxy))

    def test_what_is_cached_does(self):
        self.pull("org/model")
        status, _, err = self.run_timed("pull", "org/model", **self.NOWHERE)
        self.assertEqual(status, 0, err)
        self.assertIn("from the cache", err)

    def test_a_part_is_cached(self):
        """The commit and its list are known, and a file is missing: the first request is for that file."""
        self.pull("org/model")
        commit = self.repo.refs["main"]
        os.remove(os.path.join(self.repo_folder(), "snapshots", commit, "config.json"))
        for name in self.blobs():
            os.remove(os.path.join(self.repo_folder(), "blobs", name))
        self.check_refusal(self.run_timed("pull", "org/model@" + commit, **self.NOWHERE))

    def test_a_network_that_was_there(self):
        """A host that was reached before is tried again: a laptop may change its network."""
        gone = "http://no-such-host.invalid/x"
        self.hub.add_rule("tree", location=gone)
        self.hub.add_rule("resolve/.*config", times=2, location=gone)
        status, _, err = self.run_pippin("pull", "org/model", PIPPIN_HUB_RETRIES="3")
        self.assertEqual(status, 0, err)
        self.assertIn("again in", err)
        self.check_whole(self.repo, sorted(self.files))


class Proxies(NetworkTest):
    def proxy(self, **options):
        proxy = Proxy(**options)
        self.addCleanup(proxy.close)
        return proxy

    def serve_with_names(self, certificate=None):
        """A Hub whose names only the proxy can resolve."""
        hub = Hub(certificate)
        ports = {"hub.test": hub.servers[0].server_port, "cdn.test": hub.servers[1].server_port}
        for address, name in ((hub.endpoint, "hub.test"), (hub.cdn, "cdn.test")):
            changed = "%s://%s" % (address.split(":")[0], name)
            if name == "hub.test":
                hub.endpoint = changed
            else:
                hub.cdn = changed
        self.serve(hub)
        return ports

    def test_http(self):
        proxy = self.proxy(hosts=self.serve_with_names())
        self.check(http_proxy=proxy.url)
        lines = [entry["line"] for entry in proxy.requests()]
        self.assertEqual(len(lines), len(self.hub.requests()))
        self.assertTrue(any(line.startswith("GET http://hub.test/api/models/org/model/") for line in lines), lines)
        self.assertTrue(any(line.startswith("GET http://cdn.test/blobs/") for line in lines), lines)
        self.check(all_proxy=proxy.url)

    def test_https_through_a_tunnel(self):
        pem = os.path.join(self.home, "server.pem")
        trusted = {"CURL_CA_BUNDLE": make_certificate(pem, "hub.test", "cdn.test")}
        proxy = self.proxy(hosts=self.serve_with_names(pem))
        for name in ("https_proxy", "HTTPS_PROXY", "ALL_PROXY"):
            self.check(**trusted, **{name: proxy.url})
        for entry in proxy.requests():
            self.assertIn(entry["line"], ("CONNECT hub.test:443", "CONNECT cdn.test:443"))
            self.assertNotIn("Authorization", entry["headers"])
        self.fail_with("certificate", "pull", "org/model", https_proxy=proxy.url)

    def test_hosts_that_need_none(self):
        proxy = self.proxy()
        self.serve(Hub())
        for name in ("no_proxy", "NO_PROXY"):
            for value in ("127.0.0.1", "*", "example.org,127.0.0.1"):
                self.check(http_proxy=proxy.url, **{name: value})
        self.assertEqual(proxy.requests(), [])
        self.check(http_proxy=proxy.url, no_proxy="example.org")
        self.assertTrue(proxy.requests())

    def test_a_user_and_a_password(self):
        pem = os.path.join(self.home, "server.pem")
        trusted = {"CURL_CA_BUNDLE": make_certificate(pem, "hub.test", "cdn.test")}
        proxy = self.proxy(hosts=self.serve_with_names(pem), user="me:open sesame")
        self.check(**trusted, https_proxy=proxy.url.replace("//", "//me:open%20sesame@"))
        begin = time.monotonic()
        for url in (proxy.url, proxy.url.replace("//", "//me:wrong@")):
            line = self.fail_with("407", "pull", "org/model", **trusted, https_proxy=url, PIPPIN_HUB_RETRIES="6")
            self.assertIn("https_proxy", line)
            self.assertNotIn("wrong", line)
        self.assertLess(time.monotonic() - begin, 5)
        proxy = self.proxy(hosts=self.serve_with_names(), user="me:it")
        self.check(http_proxy=proxy.url.replace("//", "//me:it@"))
        self.assertIn("http_proxy", self.fail_with("407", "pull", "org/model", http_proxy=proxy.url))

    def test_one_that_answers_itself(self):
        """A redirect in the answer to CONNECT is not followed: the proxy is not the Hub."""
        pem = os.path.join(self.home, "server.pem")
        trusted = {"CURL_CA_BUNDLE": make_certificate(pem, "hub.test", "127.0.0.1")}
        other = Hub(pem)
        self.addCleanup(other.close)
        other.add_rule("", times=100, status=200, body=b'{"sha": "%s"}' % (b"0" * 40))
        self.serve_with_names(pem)
        for status in (200, 302, 307):
            proxy = self.proxy(refusal=(status, {"Location": other.endpoint + "/x"}))
            self.fail_with("hub.test", "pull", "org/model", **trusted, https_proxy=proxy.url, no_proxy="127.0.0.1")
        self.assertEqual(other.requests(), [])
        proxy = self.proxy(refusal=(403, {}))
        self.fail_with("the proxy answers 403", "pull", "org/model", **trusted, https_proxy=proxy.url)

    def test_one_that_is_not_there(self):
        self.serve_with_names()
        line = self.fail_with("127.0.0.1", "pull", "org/model", http_proxy="http://me:secret@127.0.0.1:9")
        self.assertNotIn("secret", line)
        self.fail_with("proxy", "pull", "org/model", http_proxy="http://no-such-host.invalid:3128", PIPPIN_HUB_RETRIES="0")


if __name__ == "__main__":
    main()
