#!/usr/bin/env python3
"""Checks that the tarball of `make dist` runs on other systems.

    dist_test.py TARBALL [CLASS[.TEST]...]     for example: dist_test.py build/dist/pippin-*.tar.xz Archive Moved

`Archive`: its contents, and the libraries and versions of the C library that the program needs. `Moved`: it runs from
other folders. `Libcurl`: its libcurl supports everything that the program uses. `Debian`: it runs on bare systems of
several versions, made by debootstrap; that needs root and a mirror of Debian (DIST_MIRROR, default
http://deb.debian.org), and is skipped without. Without CLASS all classes run, which takes a few minutes.
"""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import urllib.request

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "hub"))
from hub_server import Hub, Repo  # noqa: E402
from network_test import make_certificate  # noqa: E402

OLDEST_GLIBC = (2, 31)
# Parts of glibc, which every Linux system with glibc has.
LIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2",
        "ld-linux-aarch64.so.1"}
SUITES = ("bullseye", "bookworm", "trixie", "sid")
# The libraries in the program, with their names in the licence texts.
LIBRARIES = ("openssl", "curl", "libzip", "fmt", "protobuf", "yaml-cpp", "pcre2", "utf8proc", "libpng",
             "libjpeg-turbo", "libsamplerate", "zlib", "bzip2", "liblzma", "nlohmann-json", "cli11", "gcc runtime library exception",
             "gnu c library", "markdown-it")
STORY = "Tell me a story about a fox called Mia."


def output(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120, **more).stdout


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Unpacked(unittest.TestCase):
    """The tarball in a folder with spaces, and the model's story from there."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="pippin dist "))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        output("tar", "-C", cls.folder, "-xf", TARBALL)
        (cls.root,) = cls.folder.iterdir()
        cls.program = cls.root / "bin/pippin"

    def story(self, *command, **more):
        said = output(*command, "run", "--no-stats", "--temp", "0", "-n", "40", STORY, **more)
        self.assertIn("fox called Mia", said)
        return said


class Archive(Unpacked):
    def test_names(self):
        with tarfile.open(TARBALL) as archive:
            members = archive.getmembers()
        names = [member.name for member in members]
        self.assertEqual({name.split("/")[0] for name in names}, {TARBALL.name.removesuffix(".tar.xz")})
        self.assertEqual(names, sorted(names))
        self.assertEqual({(member.uid, member.gid) for member in members}, {(0, 0)})
        self.assertEqual(len({member.mtime for member in members}), 1)
        for member in members:
            is_program = member.isdir() or member.name.endswith("/bin/pippin")
            self.assertEqual(member.mode, 0o755 if is_program else 0o644, member.name)
        kept = {name.partition("/")[2] for name in names}
        commands = [path.name for path in (self.root / "share/man/man1").iterdir()]
        self.assertGreater(len(commands), 15)
        for name in ("README.md", "LICENSE", "CHANGELOG.md", "share/man/man1/pippin.1.gz",
                     "share/bash-completion/completions/pippin", "share/zsh/site-functions/_pippin",
                     "share/fish/vendor_completions.d/pippin.fish", "share/doc/pippin/copyright"):
            self.assertIn(name, kept)

    def test_licences(self):
        text = (self.root / "share/doc/pippin/copyright").read_text(errors="replace").lower()
        self.assertEqual([library for library in LIBRARIES if library not in text], [])
        self.assertTrue((self.root / "LICENSE").read_text().strip().startswith("Apache License"))

    def test_version(self):
        version, commit = re.match(r"pippin (\S+) \((.+)\)\n", output(self.program, "--version")).groups()
        self.assertIn(f"-{version}-linux-", TARBALL.name)
        readme = (self.root / "README.md").read_text()
        self.assertIn(f"Pippin {version} for Linux", readme)
        self.assertIn(f"Commit {commit}.", readme)
        self.assertNotIn("@", readme)

    def test_needs_only_libc(self):
        dynamic = output("readelf", "-dW", self.program)
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
        self.assertIn("libc.so.6", needed)
        self.assertEqual(needed - LIBC, set())
        self.assertNotRegex(dynamic, "RPATH|RUNPATH|TEXTREL")

    def test_needs_no_newer_libc(self):
        wanted = set(re.findall(r"\b(GLIBC\w*)_([\d.]+)\b", output("readelf", "-VW", self.program)))
        self.assertGreater(len(wanted), 3)
        self.assertEqual({name for name, _ in wanted}, {"GLIBC"})
        newest = max(tuple(int(part) for part in version.split(".")) for _, version in wanted)
        self.assertLessEqual(newest, OLDEST_GLIBC)


class Moved(Unpacked):
    def test_other_places(self):
        self.story("bin/pippin", cwd=self.root)
        links = self.folder / "links to it"
        links.mkdir()
        (links / "pippin").symlink_to(self.program)
        self.story(links / "pippin")
        self.story("pippin", env={**os.environ, "PATH": f"{links}:{os.environ['PATH']}"})
        other = self.folder / "moved"
        shutil.copytree(self.root, other / "deeper")
        self.story(other / "deeper/bin/pippin")

    def test_pages(self):
        if not shutil.which("man"):
            self.skipTest("man is not installed")
        self.assertIn("OPTIONS", output("man", "-l", self.root / "share/man/man1/pippin-run.1.gz"))


class Libcurl(Unpacked):
    def test_certificates_and_proxies(self):
        done = subprocess.run([sys.executable, "-B", TESTS / "hub/network_test.py"], capture_output=True, text=True,
                              timeout=300, env={**os.environ, "PIPPIN": str(self.program)})
        self.assertEqual(done.returncode, 0, done.stderr)


class Debian(Unpacked):
    """On a bare system: no packages beyond the essential ones, no certificates."""

    @classmethod
    def setUpClass(cls):
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root")
        if not shutil.which("debootstrap"):
            raise unittest.SkipTest("needs debootstrap")
        super().setUpClass()

    def make_system(self, suite):
        folder = pathlib.Path(tempfile.mkdtemp(prefix="pippin-debian-"))  # debootstrap does not accept spaces
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        system, log = folder / suite, folder / "log"
        with open(log, "w") as file:
            mirror = os.environ.get("DIST_MIRROR", "http://deb.debian.org") + "/debian"
            done = subprocess.run(["debootstrap", "--variant=minbase", suite, system, mirror], stdout=file, stderr=file)
        self.assertEqual(done.returncode, 0, log.read_text()[-1000:])
        shutil.copytree(self.root, system / "opt/some folder/pippin")
        (system / "usr/local/bin/pippin").symlink_to("/opt/some folder/pippin/bin/pippin")
        output("mount", "-t", "proc", "proc", system / "proc")
        self.addCleanup(output, "umount", system / "proc")
        return system

    def check(self, suite):
        system = self.make_system(suite)
        self.system = ["chroot", system, "/usr/bin/env", "-i", "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/root"]
        libc = output(*self.system, "ldd", "--version").splitlines()[0].split()[-1]
        begin = time.monotonic()
        version = output(*self.system, "pippin", "--version")
        seconds = time.monotonic() - begin
        print(f"{suite}: glibc {libc}, started in {seconds * 1000:.0f} ms", flush=True)
        self.assertEqual(version, output(self.program, "--version"))  # the same kernels as well
        self.assertEqual(self.story(*self.system, "pippin"), self.story(self.program))
        self.check_server()
        self.check_download(system)

    def check_server(self):
        port = free_port()
        server = subprocess.Popen([*self.system, "pippin", "serve", "--port", str(port), "--quiet"],
                                  stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(200):
                try:
                    page = urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).read()
                    break
                except OSError:
                    time.sleep(0.1)
            self.assertIn(b"<html", page)
        finally:
            server.terminate()
            status = server.wait(30)
        self.assertEqual(status, 0)

    # Over TLS, from a host found by name: first without any certificates, then with Fedora's certificate file.
    def check_download(self, system):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        certificate = make_certificate(folder + "/server.pem", "localhost", "127.0.0.1")
        hub = Hub(folder + "/server.pem")
        self.addCleanup(hub.close)
        hub.repos["org/model"] = Repo({"config.json": b"{}", "model.safetensors": bytes(1 << 20)})
        command = [*self.system, "HF_ENDPOINT=" + hub.endpoint.replace("127.0.0.1", "localhost"), "HF_TOKEN=hf_good",
                   "PIPPIN_HUB_RETRIES=0", "pippin", "pull", "org/model"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^pippin: error: .*ca-certificates.*\n$")
        fedora = system / "etc/pki/tls/certs"
        fedora.mkdir(parents=True)
        shutil.copy(certificate, fedora / "ca-bundle.crt")
        output(*command)
        cache = system / "root/.cache/huggingface/hub"
        self.assertTrue(list(cache.glob("models--org--model/snapshots/*/config.json")))


for name in SUITES:
    setattr(Debian, f"test_{name}", lambda self, suite=name: self.check(suite))

if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    TARBALL = pathlib.Path(sys.argv.pop(1)).resolve(strict=True)
    unittest.main(verbosity=2)
