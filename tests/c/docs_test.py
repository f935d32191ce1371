#!/usr/bin/env python3
"""The code in docs/c.md compiles as C11 without warnings and runs, and its programs equal the examples."""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/speech"), str(ROOT / "tests/vision")]
try:
    import smolvlm_folder
    import whisper_folder
except ModuleNotFoundError:
    raise unittest.SkipTest("NumPy is not installed") from None

LIBRARY = os.environ["PIPPIN_LIBRARY"]
MODEL = ROOT / "tests/install/add_half.mlmodelc"
EXAMPLES = [  # arguments, and the beginning of the output
    ("predict.c", str(MODEL), "x: float32 [1, 3]\ny: 0.5 0.5 0.5\n"),
    ("answer.c", "Tell me a story about a fox called Mia.", "Once upon a time"),
]
# A snippet that is not a program is inserted into one, after these helpers.
FRAME = """#include <pippin.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
{functions}
int main(int argc, char** argv) {{
  const char* path = argv[argc - 1];
  pippin_error* error = NULL;
  int failed = 0;
#define CHECK(call) \\
  if ((call) != PIPPIN_OK) {{ fprintf(stderr, "%s: %s\\n", #call, pippin_error_message(error)); failed = 1; }}
  const char* speech_model = argv[1];
  const char* vision_model = argv[2];
  const char* picture = argv[3];
  (void)path;
  (void)speech_model;
  (void)vision_model;
  (void)picture;
{body}
  return failed;
}}
"""


class Documentation(unittest.TestCase):
    def run_program(self, source, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "program"
            (Path(folder) / "program.c").write_text(source, encoding="utf-8")
            made = subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror",
                                   f"-I{ROOT / 'pippin/c'}", "-o", program, f"{program}.c", LIBRARY,
                                   f"-Wl,-rpath,{Path(LIBRARY).parent}"], stderr=subprocess.PIPE, text=True)
            self.assertEqual(made.returncode, 0, made.stderr + source)
            ended = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.assertEqual(ended.returncode, 0, ended.stderr + source)
            return ended.stdout

    def test_the_snippets_run(self):
        text = (ROOT / "docs/c.md").read_text(encoding="utf-8")
        snippets = re.findall(r"```c\n(.*?)```", text, re.S)
        for name, argument, output in EXAMPLES:
            program = (ROOT / "examples" / name).read_text(encoding="utf-8")
            self.assertIn(program, snippets)
            snippets.remove(program)
            self.assertTrue(self.run_program(program, argument).startswith(output), name)
        self.assertGreaterEqual(len(snippets), 3)
        with tempfile.TemporaryDirectory() as folder:
            whisper_folder.write_folder(Path(folder) / "whisper", 1)
            smolvlm_folder.write_folder(Path(folder) / "smolvlm")
            smolvlm_folder.write_png(Path(folder) / "picture.png", smolvlm_folder.make_pixels(1))
            self.run_snippets(snippets, *(str(Path(folder) / name) for name in ("whisper", "smolvlm", "picture.png")))

    def run_snippets(self, snippets, *arguments):
        for snippet in snippets:
            functions = "".join(re.findall(r"^static .*?^}\n", snippet, re.M | re.S))
            body = snippet.replace(functions, "")
            self.assertTrue(self.run_program(FRAME.format(functions=functions, body=body), *arguments, str(MODEL)),
                            snippet)


if __name__ == "__main__":
    unittest.main()
