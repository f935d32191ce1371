#!/usr/bin/env python3
"""Models over the ranks of an MPI job, on this machine; skipped without Open MPI.
PIPPIN=build/release/pippin/cli/pippin
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

PIPPIN = os.environ.get("PIPPIN", "pippin")
DEMO = str(Path(__file__).resolve().parents[2] / "pippin/demo/model")
PLUGIN = Path(PIPPIN).resolve().parent / "libpippin-mpi.so"
PROMPT = "Once upon a time there was a small pipe that"
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   PIPPIN_PIN="0")


def mpirun(ranks, *arguments):
    return ["mpirun", "-q", "-n", str(ranks), "--oversubscribe", "--bind-to", "none",
            "--mca", "btl", "self,vader,tcp", "--mca", "btl_tcp_if_include", "lo",
            "--mca", "oob_tcp_if_include", "lo",
            "--mca", "btl_vader_single_copy_mechanism", "none", PIPPIN, *arguments]


def generate(command):
    done = subprocess.run([*command, "--temp", "0", "-n", "24", "-t", "1", "--no-stats", "--json"],
                          capture_output=True, text=True, timeout=120, env=ENVIRONMENT,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    return answer["text"]


def children_of(pid):
    """The ranks that mpirun started, in the order of their processes."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
            if int(fields[1]) == pid:
                found.append(int(stat.parent.name))
        except (OSError, IndexError):
            pass
    return sorted(found)


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class MpiTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="pippin-mpi-"))
        for family, options in (("stateful", []), ("anemll", ["--chunks", "2", "--context", "128"]),
                                ("windowed", ["--blocks-per-chunk", "1"])):
            output = cls.folder / (family + (".mlpackage" if family == "stateful" else ""))
            subprocess.run([PIPPIN, "convert", DEMO, "-o", output, "--family", family, *options],
                           check=True, capture_output=True, timeout=120)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def test_texts_are_those_of_one_process(self):
        for name in (DEMO, "stateful.mlpackage", "anemll", "windowed"):
            model = str(self.folder / name)
            want = generate([PIPPIN, "run", model, PROMPT])
            for ranks in (1, 2, 3, 4):
                with self.subTest(model=name, ranks=ranks):
                    self.assertEqual(generate(mpirun(ranks, "run", model, PROMPT)), want)

    def test_texts_of_groups_are_those_of_one_process(self):
        # The prompt is long enough to be worth dividing.
        prompt = " ".join([PROMPT] * 6)
        for name in (DEMO, "stateful.mlpackage"):
            model = str(self.folder / name)
            want = generate([PIPPIN, "run", model, prompt])
            for ranks, width in ((2, 2), (4, 2), (4, 4)):
                with self.subTest(model=name, ranks=ranks, width=width):
                    have = generate(mpirun(ranks, "run", model, prompt, "--tensor-parallel", str(width)))
                    self.assertEqual(have, want)

    def test_groups_need_ranks(self):
        for command, line in ((mpirun(3, "run", DEMO, "a", "--tensor-parallel", "2"),
                               "pippin: error: --tensor-parallel 2: 3 ranks do not form groups of 2"),
                              ([PIPPIN, "run", DEMO, "a", "--tensor-parallel", "2"],
                               "pippin: error: --tensor-parallel 2: no MPI job started this process "
                               "(mpirun -n 2 pippin ...)")):
            with self.subTest(line=line):
                done = subprocess.run(command, capture_output=True, text=True, timeout=60,
                                      env=ENVIRONMENT, stdin=subprocess.DEVNULL)
                self.assertNotEqual(done.returncode, 0)
                self.assertEqual([one for one in done.stderr.splitlines() if one.startswith("pippin")],
                                 [line])

    def serve(self, ranks):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        job = subprocess.Popen(mpirun(ranks, "serve", DEMO, "--port", str(port), "-q", "-t", "1"),
                               stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                               env=ENVIRONMENT, start_new_session=True)
        self.addCleanup(self.end, job)
        address = f"http://127.0.0.1:{port}"
        for _ in range(300):
            try:
                urllib.request.urlopen(address + "/health", timeout=5)
                return job, address
            except OSError:
                self.assertIsNone(job.poll(), "the server ended")
                time.sleep(0.1)
        self.fail("the server did not start")

    @staticmethod
    def end(job):
        if job.poll() is None:
            for child in children_of(job.pid):
                os.kill(child, signal.SIGKILL)
            job.wait(timeout=20)
        job.stderr.close()

    @staticmethod
    def ask(address, prompt, tokens=12):
        body = {"prompt": prompt, "max_tokens": tokens, "temperature": 0}
        request = urllib.request.Request(address + "/v1/completions", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        return json.load(urllib.request.urlopen(request, timeout=60))["choices"][0]["text"]

    def test_a_server_gives_the_answers_of_one_process(self):
        prompts = [f"{PROMPT} {i % 5} and {i}" for i in range(8)]
        _, alone = self.serve(1)
        want = [self.ask(alone, prompt) for prompt in prompts]
        _, address = self.serve(3)
        with ThreadPoolExecutor(8) as clients:
            have = list(clients.map(lambda prompt: self.ask(address, prompt), prompts))
        self.assertEqual(have, want)

    def test_a_killed_rank_ends_the_job_with_a_line(self):
        told = []
        for killed in (0, 1, 2):
            with self.subTest(rank=killed):
                job, address = self.serve(3)
                self.ask(address, PROMPT)
                ranks = children_of(job.pid)
                self.assertEqual(len(ranks), 3)
                os.kill(ranks[killed], signal.SIGKILL)
                told += self.assert_ends(job, ranks, rf"rank {killed} of 3 is lost \(.*process "
                                         rf"{ranks[killed]}\): its process has ended; the job ends")
        # mpirun sees the killed process, too, and on a busy machine it may end before it has passed the line on.
        self.assertTrue(told)

    def test_a_rank_killed_with_steps_in_flight_ends_the_job(self):
        job, address = self.serve(3)
        self.ask(address, PROMPT)
        ranks = children_of(job.pid)
        with ThreadPoolExecutor(6) as clients:
            answers = [clients.submit(self.ask, address, f"{i} {PROMPT}", 100) for i in range(200)]
            while not any(answer.done() for answer in answers):
                time.sleep(0.01)
            os.kill(ranks[2], signal.SIGKILL)
            self.assert_ends(job, ranks, rf"rank 2 of 3 is lost \(.*process {ranks[2]}\): its process has ended; "
                                         r"the job ends")
            self.assertTrue(any(answer.exception() for answer in answers))

    def test_a_silent_rank_ends_the_job_with_a_line(self):
        job, address = self.serve(2)
        ranks = children_of(job.pid)
        self.ask(address, PROMPT)
        os.kill(ranks[1], signal.SIGSTOP)  # as a lost network looks
        self.addCleanup(lambda: [os.kill(rank, signal.SIGKILL) for rank in ranks
                                 if Path(f"/proc/{rank}").exists()])
        told = self.assert_ends(job, ranks[:1], r"rank 1 of 2 is lost \(.*process \d+\): not heard of")
        self.assertEqual(len(told), 1)

    def assert_ends(self, job, ranks, line):
        """Soon (within 5 seconds, twice that on busy machines), and no other line is told. Returns the lines."""
        start = time.monotonic()
        while any(is_alive(rank) for rank in ranks):
            self.assertLess(time.monotonic() - start, 10.0, "ranks are left")
            time.sleep(0.05)
        self.assertNotEqual(job.wait(timeout=20), 0)
        told = [text for text in job.stderr.read().splitlines() if "listening at" not in text]
        self.assertLessEqual(len(told), 1, told)
        for text in told:
            self.assertRegex(text, "^pippin: " + line)
        return told

    def test_a_batch_is_answered(self):
        requests = self.folder / "requests.jsonl"
        with requests.open("w") as file:
            for i in range(12):
                body = {"prompt": f"{PROMPT} {i}", "max_tokens": 6, "temperature": 0}
                file.write(json.dumps({"custom_id": str(i), "method": "POST",
                                       "url": "/v1/completions", "body": body}) + "\n")
        answers = []
        for name, start in (("one", [PIPPIN]), ("two", mpirun(2))):
            output = self.folder / f"{name}.jsonl"
            done = subprocess.run([*start, "batch", requests, "-m", DEMO, "-o", output, "-t", "1",
                                   "-q"], capture_output=True, text=True, timeout=120,
                                  env=ENVIRONMENT)
            self.assertEqual(done.returncode, 0, done.stderr)
            texts = {}
            for line in output.read_text().splitlines():
                answer = json.loads(line)
                texts[answer["custom_id"]] = answer["response"]["body"]["choices"][0]["text"]
            answers.append(texts)
        self.assertEqual(len(answers[0]), 12)
        self.assertEqual(answers[0], answers[1])

    def test_errors_are_single_lines(self):
        for arguments, error in (
                (["run", DEMO, "--low-memory", "x"],
                 "--low-memory: the ranks of an MPI job keep their layers"),
                (["run", "/nonexistent", "x"], "/nonexistent")):
            with self.subTest(arguments=arguments):
                done = subprocess.run(mpirun(2, *arguments), capture_output=True, text=True,
                                      timeout=60, env=ENVIRONMENT, stdin=subprocess.DEVNULL)
                self.assertNotEqual(done.returncode, 0)
                lines = done.stderr.splitlines()
                self.assertEqual(len(lines), 1, lines)
                self.assertIn(error, lines[0])


if __name__ == "__main__":
    if shutil.which("mpirun") and PLUGIN.exists():
        unittest.main()
    else:
        print("skipped: Open MPI is not installed")
