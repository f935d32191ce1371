#!/usr/bin/env python3
"""Runs other projects' scripts for coremltools, unchanged, with Pippin behind it and packages that Pippin converted.

    PIPPIN=PROGRAM COREMLTOOLS=DIR [SWIFT_TRANSFORMERS=DIR] [ANEMLL=DIR] run_scripts.py

The folders are checkouts of apple/coremltools, huggingface/swift-transformers (Examples/Mistral7B/generate.py) and
Anemll/Anemll (tests/chat.py). Tokenizers are Pippin's, under transformers' names (stand_ins/). A script must
print the same text as `pippin run`. Exit status 77 (skipped) if nothing can be run, 1 if a script failed.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SKIPPED = 77
PROMPT = "Once upon a time"


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIPPED)


def run(*command, **options):
    return subprocess.run([str(one) for one in command], capture_output=True, text=True, check=True, **options).stdout


class Scripts:
    def __init__(self, model, folder):
        self.pippin, self.model, self.folder = os.environ["PIPPIN"], model, folder
        self.python = os.environ.get("COREMLTOOLS_PYTHON", "/usr/bin/python3")
        paths = [HERE / "stand_ins", Path(os.environ["COREMLTOOLS"]).resolve(),
                 *os.environ.get("PYTHONPATH", str(ROOT / "build/release/python")).split(os.pathsep)]
        self.environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)),
                            "PYTHONDONTWRITEBYTECODE": "1"}

    def script(self, *arguments):
        return run(self.python, "-m", "pippin.coreml", *arguments, cwd=self.folder, env=self.environment)

    def told(self, package, count):
        return run(self.pippin, "run", package, PROMPT, "--max-tokens", count, "--temperature", 0)

    def generate(self, checkout):
        """Hugging Face's example of a stateful Mistral."""
        package = self.folder / "stateful.mlpackage"
        run(self.pippin, "convert", self.model, "-o", package)
        (self.folder / self.model.name).symlink_to(self.model)  # the package finds its tokenizer by this name
        text = self.script(checkout / "Examples/Mistral7B/generate.py", package, "--prompt", PROMPT,
                           "--max_new_tokens", 60)
        return text.partition(PROMPT)[2].strip() == self.told(package, 60).strip(), text

    def chat(self, checkout):
        """ANEMLL's chat, with compiled parts that share a state."""
        folder = self.folder / "parts"
        run(self.pippin, "convert", self.model, "--family", "anemll", "--chunks", 2, "-o", folder)
        told = self.told(folder, 40)
        compile_all = ("import pathlib, pippin, shutil, sys\nfor path in pathlib.Path(sys.argv[1]).glob('*.mlpackage'):\n"
                       "    pippin.Model(str(path)).compile(str(path.with_suffix('.mlmodelc')))\n    shutil.rmtree(path)")
        run(self.python, "-c", compile_all, folder, env=self.environment)
        text = self.script(checkout / "tests/chat.py", "--meta", folder / "meta.yaml", "--prompt", PROMPT,
                           "--max-tokens", 40, "--no-template")
        plain = re.sub(r"\x1b\[\d*m", "", text)
        answer = plain.partition("Assistant:")[2].partition("\n")[0]
        return answer.replace(" ", "") == told.strip().replace(" ", ""), plain  # the script decodes token by token


def main():
    for name in ("PIPPIN", "COREMLTOOLS"):
        if not os.environ.get(name):
            skip(f"{name} is not set")
    model = Path(os.environ.get("PIPPIN_SHARED") or ROOT.parent / "shared") / "data/models/babyllama-tok105"
    if not model.exists():
        skip(f"no shared data: {model}")
    given = [(name, method) for name, method in (("SWIFT_TRANSFORMERS", "generate"), ("ANEMLL", "chat"))
             if os.environ.get(name)]
    if not given:
        skip("neither SWIFT_TRANSFORMERS nor ANEMLL names a checkout")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="pippin-scripts-") as folder:
        scripts = Scripts(model.resolve(), Path(folder))
        for name, method in given:
            try:
                same, text = getattr(scripts, method)(Path(os.environ[name]).resolve())
            except subprocess.CalledProcessError as error:
                same, text = False, error.stdout + error.stderr
            print("ok  " if same else "FAIL", name, method)
            if not same:
                failed += 1
                print(text[-3000:])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
