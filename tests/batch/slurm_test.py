#!/usr/bin/env python3
"""pippin batch --slurm on a cluster of two nodes in this machine; skipped without Slurm.
PIPPIN=build/release/pippin/cli/pippin
"""

import getpass
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

PIPPIN = os.environ.get("PIPPIN", "pippin")
REQUESTS = 600
CONFIGURATION = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/control.pid
SlurmdPidFile={folder}/%n.pid
MpiDefault=none
ReturnToService=2
NodeName=n0 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=1
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=1
PartitionName=all Nodes=n0,n1 Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class SlurmTest(unittest.TestCase):
    def setUp(self):
        path = os.environ["PATH"] + ":/usr/sbin"
        if not shutil.which("slurmctld", path=path):
            self.skipTest("Slurm is not installed")
        self.folder = Path(tempfile.mkdtemp(prefix="pippin-slurm-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name in ("state", "n0", "n1"):
            (self.folder / name).mkdir()
        file = self.folder / "slurm.conf"
        file.write_text(CONFIGURATION.format(host=socket.gethostname().split(".")[0], user=getpass.getuser(),
                                             folder=self.folder, ports=free_ports(3)))
        self.environment = {**os.environ, "PATH": path, "SLURM_CONF": str(file)}
        self.log = open(self.folder / "log", "w")
        self.addCleanup(self.log.close)
        for command in (["slurmctld", "-D"], ["slurmd", "-D", "-N", "n0"], ["slurmd", "-D", "-N", "n1"]):
            daemon = subprocess.Popen(command, env=self.environment, stdout=self.log, stderr=self.log)
            self.addCleanup(daemon.wait)
            self.addCleanup(daemon.kill)
        self.wait(lambda: self.run_here("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == "2", 30)

    def run_here(self, *command):
        result = subprocess.run(command, env=self.environment, cwd=self.folder, capture_output=True, text=True)
        return result.stdout

    def wait(self, condition, seconds):
        end = time.time() + seconds
        while not condition():
            self.assertLess(time.time(), end, (self.folder / "log").read_text()[-2000:])
            time.sleep(0.2)

    def status(self):
        return json.loads(self.run_here(PIPPIN, "batch", "status", "out", "--json") or "{}")

    def test_an_array_with_a_killed_task(self):
        with open(self.folder / "in.jsonl", "w", encoding="utf-8") as file:
            for i in range(REQUESTS):
                body = {"prompt": f"Once {i}", "max_tokens": 40}
                file.write(json.dumps({"custom_id": f"r{i}", "url": "/v1/completions", "body": body}) + "\n")
        self.assertIn("Submitted", self.run_here(PIPPIN, "batch", "in.jsonl", "-o", "out", "-t", "1", "--slurm", "3"))
        self.wait(lambda: self.status().get("answered", 0) > 20, 60)
        running = self.run_here("squeue", "-h", "-r", "-t", "R", "-o", "%A").split()
        self.run_here("scancel", "-s", "KILL", running[0])
        self.wait(lambda: not self.run_here("squeue", "-h").strip(), 120)
        status = self.status()
        self.assertEqual((status["answered"], status["failed"], status["workers"]), (REQUESTS, 0, []))
        self.run_here(PIPPIN, "batch", "merge", "out", "-o", "all.jsonl")
        with open(self.folder / "all.jsonl", encoding="utf-8") as file:
            self.assertEqual([json.loads(line)["custom_id"] for line in file], [f"r{i}" for i in range(REQUESTS)])


if __name__ == "__main__":
    unittest.main()
