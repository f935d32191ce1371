#!/usr/bin/env python3
"""Records docs/chat.cast, a chat with the demo model, as asciinema plays it (asciicast v2: a line of JSON for each piece
of output, with its time).

    docs/make_recording.py build/release/pippin/cli/pippin
"""

import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
program = sys.argv[1]
sys.argv = ["chat_test.py", program]
sys.path.insert(0, str(HERE.parent / "tests" / "chat"))
from chat_test import Terminal  # noqa: E402

TYPED = ["Tell me a story about a fox called Mia.", "/set verbose", "What happened then?", "/show context", "/bye"]


def main():
    chat = Terminal("--set", "temperature=0", "--set", "num_predict=60", "--no-history", columns=76, rows=24)
    start, pieces, seen = time.monotonic(), [], 0

    def note():
        nonlocal seen
        if len(chat.seen) > seen:
            pieces.append([round(time.monotonic() - start, 3), "o", chat.seen[seen:]])
            seen = len(chat.seen)

    def settle(seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            chat.read(0.02)
            note()

    settle(1)
    for line in TYPED:
        for letter in line:
            chat.send(letter)
            settle(0.04)
        chat.send("\r")
        settle(1.5)
    chat.end()
    note()
    header = {"version": 2, "width": 76, "height": 24, "title": "pippin chat"}
    with open(HERE / "chat.cast", "w") as file:
        for line in [header, *pieces]:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
