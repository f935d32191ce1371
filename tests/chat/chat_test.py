#!/usr/bin/env python3
"""Tests `pippin chat` in a pseudo-terminal and through pipes.

    chat_test.py PIPPIN
"""

import fcntl
import json
import os
import pty
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

PIPPIN = os.path.abspath(sys.argv.pop(1))
PROMPT = ">>> "
QUIET = ["--set", "num_predict=12", "--set", "temperature=0"]


class Terminal:
    """A chat in a pseudo-terminal."""

    def __init__(self, *arguments, columns=80, rows=24, env=None, folder=None, command="chat"):
        self.folder = folder or tempfile.mkdtemp()
        environment = {"PATH": os.environ["PATH"], "HOME": self.folder, "TERM": "xterm", "LANG": "C.UTF-8", **(env or {})}
        self.pid, self.file = pty.fork()
        if self.pid == 0:
            os.chdir(self.folder)
            os.execve(PIPPIN, ["pippin"] + ([command] if command else []) + list(arguments), environment)
        self.seen = ""
        self.bytes = b""
        self.resize(columns, rows)

    def resize(self, columns, rows=24):
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, text):
        data = text.encode()
        while data:
            data = data[os.write(self.file, data[:512]):]
            self.read(0)

    def read(self, seconds):
        if not select.select([self.file], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.file, 65536)
        except OSError:
            data = b""
        self.bytes += data
        self.seen = self.bytes.decode(errors="replace")
        return bool(data)

    def wait_for(self, pattern, seconds=30, after=0):
        """The output from `after` to the end of `pattern`."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = re.search(pattern, self.seen[after:])
            if found:
                return self.seen[after:after + found.end()]
            self.read(0.1)
        raise AssertionError(f"no {pattern!r} in {self.seen[after:]!r}")

    def ask(self, text):
        """Sends a line and returns the output up to the next prompt."""
        start = len(self.seen)
        self.send(text + "\r")
        self.wait_for(r"\r\n(?s:.)*>>> ", after=start)
        # Waits for the placeholder of the prompt.
        while self.read(0.1):
            pass
        return plain(self.seen[start:])

    def end(self, seconds=20):
        """The exit status."""
        limit = time.monotonic() + seconds
        while time.monotonic() < limit:
            self.read(0.05)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.file)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError(f"it did not end: {self.seen!r}")


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Chat(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def start(self, *arguments, **more):
        chat = Terminal(*arguments, folder=self.folder, **more)
        chat.wait_for(PROMPT if more.get("columns", 80) > 3 else ">")
        return chat

    def leave(self, chat):
        chat.send("\x04")
        self.assertEqual(chat.end(), 0)

    def piped(self, text, *arguments, status=0):
        done = subprocess.run([PIPPIN, "chat", *arguments], input=text, capture_output=True, text=True, timeout=60,
                              env={"HOME": self.folder, "PATH": os.environ["PATH"]})
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def test_talks(self):
        chat = self.start(*QUIET)
        first = chat.ask("Tell me a story.")
        again = chat.ask("/regen")
        answer = first.split("\n")[1]
        self.assertGreater(len(answer), 20)
        self.assertIn(answer, again)
        self.assertIn("of 512", chat.ask("/show context"))
        self.assertIn("temperature", chat.ask("/show parameters"))
        self.assertIn("tokens/s", chat.ask("/set verbose") + chat.ask("And then?"))
        self.assertIn("Forgotten", chat.ask("/clear"))
        self.assertIn("nothing was said yet", chat.ask("/regen"))
        self.assertIn("unknown command /nosuch", chat.ask("/nosuch"))
        self.leave(chat)

    def test_pippin_alone_is_a_chat_with_the_demo(self):
        chat = self.start(command=None)
        self.assertIn("demo", chat.ask("/show info"))
        self.leave(chat)

    def test_control_c_stops_the_answer_and_keeps_the_chat(self):
        chat = self.start("--set", "temperature=0", "--set", "ignore_eos=true")
        start = len(chat.seen)
        chat.send("Tell me a story about a fox.\r")
        chat.wait_for(r"Once upon", after=start)
        chat.send("typed ahead\x03")
        chat.wait_for(r"\[stopped\](?s:.)*>>> typed ahead", after=start)
        chat.send("\x15")
        self.assertIn("2 messages", chat.ask("/show context"))
        # At the prompt, Ctrl-C drops the line and prints how to leave.
        chat.send("half a line\x03")
        chat.wait_for("Ctrl-D or /bye leaves")
        chat.send("/bye\r")
        self.assertEqual(chat.end(), 0)

    def test_pasted_lines_are_one_message(self):
        chat = self.start(*QUIET)
        chat.send("\x1b[200~first\nsecond \x1b[31mred\x1b[201~")
        chat.wait_for(r"\.\.\. second \^\[\[31mred")
        self.assertIn("Saved 2 messages", chat.ask("") + chat.ask("/save chat.json"))
        with open(self.folder + "/chat.json") as file:
            self.assertEqual(json.load(file)["messages"][0]["content"], "first\nsecond \x1b[31mred")
        self.leave(chat)

    def test_messages_of_several_lines(self):
        chat = self.start(*QUIET)
        chat.send('"""one\rtwo"""\r')
        chat.wait_for(r"two(?s:.)*>>> ")
        chat.send("/save chat.json\r")
        chat.wait_for("Saved 2")
        with open(self.folder + "/chat.json") as file:
            self.assertEqual(json.load(file)["messages"][0]["content"], "one\ntwo")
        start = len(chat.seen)
        chat.send('"""never mind\r')
        chat.wait_for(r"\.\.\. ", after=start)
        chat.send("\x03")
        chat.wait_for("leaves")
        self.assertIn("2 messages", chat.ask("/show context"))
        self.leave(chat)

    def test_edits_the_last_message(self):
        chat = self.start(*QUIET)
        chat.ask("Tell me a storm")
        start = len(chat.seen)
        chat.send("/edit\r")
        chat.wait_for("Tell me a storm", after=start)
        chat.send("\x7fy\r")
        chat.wait_for(r"story\r[^\n]*\n(?s:.)*>>> ", after=start)
        chat.send("/save chat.json\r")
        chat.wait_for("Saved 2")
        with open(self.folder + "/chat.json") as file:
            self.assertEqual(json.load(file)["messages"][0]["content"], "Tell me a story")
        self.leave(chat)

    def test_the_editor(self):
        script = self.folder + "/editor"
        with open(script, "w") as file:
            file.write('#!/bin/sh\nprintf "written elsewhere\\n" > "$1"\n')
        os.chmod(script, 0o755)
        chat = self.start(*QUIET, env={"EDITOR": script})
        chat.send("\x07")
        chat.wait_for("written elsewhere")
        chat.ask("")
        self.leave(chat)

    def test_history_is_there_the_next_time(self):
        chat = self.start(*QUIET)
        chat.ask("a first message")
        chat.ask("/set nohistory")
        chat.ask("a secret")
        self.leave(chat)
        file = self.folder + "/.local/state/pippin/chat-history"
        self.assertEqual(os.stat(file).st_mode & 0o777, 0o600)
        with open(file) as lines:
            self.assertNotIn("secret", lines.read())
        chat = self.start(*QUIET)
        start = len(chat.seen)
        chat.send("\x1b[A\x1b[A")
        chat.wait_for("a first message", after=start)
        chat.send("\x03")
        self.leave(chat)

    def test_saves_and_loads(self):
        chat = self.start(*QUIET)
        chat.ask("/set system You are brief.")
        chat.ask("Hello")
        chat.ask("/save chat.json")
        self.leave(chat)
        chat = self.start("--load", "chat.json")
        self.assertIn("You are brief.", chat.ask("/show system"))
        self.assertIn("2 messages", chat.ask("/show context"))
        with open(self.folder + "/bad.json", "w") as file:
            file.write('{"messages": [{"role": "user"')
        self.assertIn("error: bad.json", chat.ask("/load bad.json"))
        self.assertIn("2 messages", chat.ask("/show context"))
        self.assertIn("error", chat.ask("/save nowhere/chat.json"))
        self.leave(chat)

    def test_ten_thousand_characters_typed_while_text_streams(self):
        chat = self.start("--set", "temperature=0", "--set", "num_predict=300")
        letters = random.Random(3)
        typed = "".join(letters.choice("abcdefghij klmnop äöü 漢字 0123456789") for _ in range(10_000)).strip()
        start = len(chat.seen)
        chat.send("Tell me a long story.\r")
        for at in range(0, len(typed), 97):
            chat.send(typed[at:at + 97])
            time.sleep(0.005)
        chat.wait_for(r"\r\n(?s:.)*>>> ", after=start)
        chat.send("\r")
        chat.wait_for(r">>> (?s:.)*(error|>>> )", after=start + 100)
        chat.send("\x1b[A")  # the last entry of the history
        while chat.read(1):
            pass
        chat.send("\x03")
        self.leave(chat)
        with open(self.folder + "/.local/state/pippin/chat-history") as file:
            self.assertEqual(file.read().split("\n")[1], typed)

    def test_any_width_and_resizing(self):
        for columns in (1, 2, 7, 500):
            chat = self.start(*QUIET, columns=columns)
            chat.send("Hello\r")
            chat.wait_for(r"Hello|H(?s:.)*o")
            for other in (1, 3, 80, 500, columns):
                chat.resize(other)
                time.sleep(0.05)
                chat.read(0)
            time.sleep(0.3)
            chat.send("/bye\r")
            self.assertEqual(chat.end(), 0)

    def test_a_terminal_without_moves(self):
        chat = Terminal(*QUIET, folder=self.folder, env={"TERM": "dumb"})
        chat.send("Tell me a story.\n/bye\n")
        self.assertEqual(chat.end(), 0)
        self.assertNotIn("\x1b", chat.seen)
        self.assertEqual(chat.seen.count(PROMPT), 2)
        self.assertGreater(len(chat.seen), 60)

    def test_other_character_sets_and_no_colors(self):
        for locale in ("C", "de_DE.ISO-8859-1"):
            chat = self.start(*QUIET, env={"LC_ALL": locale, "NO_COLOR": "1"})
            start = len(chat.bytes)
            chat.send("漢\r")
            chat.wait_for(r">>> \?")
            while chat.read(0.5):
                pass
            self.assertTrue(chat.bytes[start:].isascii())
            self.assertNotIn(b"\x1b[2m", chat.bytes)
            self.leave(chat)

    def test_a_signal_gives_the_terminal_back(self):
        chat = self.start(*QUIET)
        before = termios.tcgetattr(chat.file)
        self.assertFalse(before[3] & termios.ECHO)
        os.kill(chat.pid, signal.SIGTERM)
        end = time.monotonic() + 20
        while not termios.tcgetattr(chat.file)[3] & termios.ECHO and time.monotonic() < end:
            chat.read(0.05)
        self.assertTrue(termios.tcgetattr(chat.file)[3] & termios.ECHO)
        self.assertEqual(chat.end(), 143)

    def test_goes_on_after_a_suspension(self):
        # The system does not stop processes of an orphaned group, as here: the chat continues at once.
        chat = self.start(*QUIET)
        start = len(chat.seen)
        chat.send("kept\x1a")
        chat.wait_for("kept(?s:.)*>>> kept", after=start)
        chat.send("\x15")
        self.leave(chat)

    def test_completes(self):
        chat = self.start(*QUIET)
        start = len(chat.seen)
        chat.send("/set no\t")
        chat.wait_for("nohistory(?s:.)*nothink(?s:.)*nowordwrap", after=start)
        chat.send("\x15/sh\t")
        chat.wait_for("/show ", after=start)
        chat.send("\x15")
        self.leave(chat)

    # --- through pipes ---

    def test_lines_are_messages(self):
        done = self.piped('Tell me a story.\n"""\nTwo\nlines\n"""\n/show info\n/save chat.json\n', *QUIET)
        self.assertEqual(len(done.stdout.strip().split("\n")), 2)
        self.assertIn("model        demo", done.stderr)
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        with open("chat.json") as file:
            messages = json.load(file)["messages"]
        os.remove("chat.json")
        self.assertEqual([m["content"] for m in messages if m["role"] == "user"], ["Tell me a story.", "Two\nlines\n"])

    def test_what_goes_wrong_is_one_line(self):
        for text, arguments, status, said in [
                ("", ["nosuch"], 1, "nosuch: there is no such model"),
                ("hi\n", ["--url", "http://127.0.0.1:1"], 1, "http://127.0.0.1:1: Failed to connect"),
                ("hi\n", ["--url", "ftp://x"], 1, "is not a URL like"),
                ("hi\n", ["--set", "nosuch=1"], 2, 'unknown parameter "nosuch"'),
                ("hi\n", ["--set", "top_k=x"], 2, 'top_k: "x" is not an integer'),
                ("hi\n", ["--load", "nosuch.json"], 1, "nosuch.json"),
                ('"""\nopen\n', [], 1, "ends within"),
                ("/nosuch\n", [], 1, "unknown command /nosuch"),
                ("hi\n", ["--set", "temperature=-1"], 1, "temperature"),
                ("word " * 2000 + "\n", [], 1, "the model's context holds 512")]:
            done = self.piped(text, *arguments, status=status)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_prompt_cache(self):
        file = self.folder + "/cache"
        arguments = [*QUIET, "--prompt-cache", file]
        first = self.piped("Tell me a story about a fox called Mia.\n", *arguments)
        self.assertTrue(os.path.getsize(file) > 1000)
        again = self.piped("Tell me a story about a fox called Mia.\n", *arguments)
        self.assertEqual(first.stdout, again.stdout)
        with open(file, "r+b") as damaged:
            damaged.seek(200)
            damaged.write(b"x" * 50)
        third = self.piped("Tell me a story about a fox called Mia.\n", *arguments)
        self.assertEqual(first.stdout, third.stdout)
        self.assertIn("prompt cache", third.stderr)

    # --- a server ---

    def test_a_server(self):
        port = free_port()
        server = subprocess.Popen([PIPPIN, "serve", "demo", "--port", str(port), "--api-key", "secret", "--quiet"],
                                  stderr=subprocess.PIPE, text=True)
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        server.stderr.readline()
        url = ["--url", f"127.0.0.1:{port}/v1/"]
        here = self.piped("Tell me a story.\n", *QUIET)
        there = self.piped("Tell me a story.\n", *QUIET, *url, "--api-key", "secret")
        self.assertEqual(here.stdout, there.stdout)
        self.assertIn("key", self.piped("hi\n", *url, status=1).stderr)
        self.assertIn("has no model", self.piped("hi\n", "other", *url, "--api-key", "secret", status=1).stderr)
        # A server that disconnects during an answer.
        chat = self.start(*url, "--api-key", "secret", "--set", "seed=1")
        chat.send("Tell me a story.\r")
        told = chat.wait_for(r"story\.(?s:.){30}")
        server.kill()
        chat.wait_for("error: |>>> ", after=len(told) - 30)
        self.assertIn("error: ", chat.ask("And then?"))
        self.leave(chat)


if __name__ == "__main__":
    unittest.main(verbosity=1)
