#!/usr/bin/env python3
"""Compares examples/llama.cpp with the program and with other implementations' greedy tokens.

    llama_test.py LLAMA PIPPIN   the built example and the program

One line per difference; the status is 1 if there is any.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import numpy as np
except ImportError:
    np = None

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/python"))
from testing import find_data  # noqa: E402

PROMPTS = ["Once upon a time", "Lily and her dog", "The"]
# Checkpoints in float32 with golden greedy tokens: multi-head attention, grouped heads with scaled rotary positions and
# a tied output, biases and linear scaling, an explicit head size.
GOLDEN = ["llama_mha", "llama_gqa_llama3_tied", "llama_bias_linear", "llama_headdim"]


def output(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else f"status {done.returncode}: {done.stderr}"


def words(vocabulary):
    """A tokenizer whose tokens are their own ids, separated by blanks."""
    return {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"},
            "post_processor": None, "decoder": None,
            "model": {"type": "WordLevel", "vocab": {str(i): i for i in range(vocabulary)}, "unk_token": "0"}}


def against_program(llama, pippin, model):
    for prompt in PROMPTS:
        found = output(llama, model, prompt, 120)
        expected = output(pippin, "run", model, prompt, "-n", 120, "--temp", 0, "--raw", "--no-stats")
        if found.strip() != expected.strip():
            yield f"{model.name}, {prompt!r}: {found!r} instead of {expected!r}"


def against_golden(llama, model):
    golden = np.load(model / "golden.npz")
    prompt, expected = golden["input_ids"][0], golden["gen_ids"][0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file in model.iterdir():
            (folder / file.name).symlink_to(file)
        config = json.loads((model / "config.json").read_text())
        (folder / "config.json").unlink()  # the golden tokens ignore end tokens
        (folder / "config.json").write_text(json.dumps({**config, "eos_token_id": None}))
        (folder / "tokenizer.json").write_text(json.dumps(words(config["vocab_size"])))
        found = output(llama, folder, " ".join(map(str, prompt)), len(expected)).strip()
    if found != " ".join(map(str, expected)):
        yield f"{model.name}: {found} instead of {list(expected)}"


def main(llama, pippin):
    models = [ROOT / "pippin/demo/model", find_data("models/stories260K")]
    faults = [fault for model in models if model for fault in against_program(llama, pippin, model)]
    golden = [folder for name in GOLDEN if (folder := find_data(f"architectures/{name}"))]
    if np is None:
        print("NumPy is not installed: golden tokens are not compared")
        golden = []
    for folder in golden:
        faults += against_golden(llama, folder)
    print("\n".join(faults) or f"the example writes what it should, {len(golden)} golden checkpoints among it")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*(Path(argument).resolve() for argument in sys.argv[1:3])))
