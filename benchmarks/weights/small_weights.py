#!/usr/bin/env python3
"""Bits against loss: a model's weights in few bits by Pippin, by coremltools' k-means and by llama.cpp's quantizer, all
measured by `pippin verify` on text that none of them has seen.

    small_weights.py PIPPIN MODEL [--quantize-command "..."] [--bits 2.2,2.6,...] [--json FILE]

MODEL is the folder of a small Llama. Text: conversations of models-src for the demo model, the model's own stories for
others. --quantize-command runs llama.cpp's llama-quantize; without it, its rows are absent. llama.cpp's rows of a type
whose blocks have 256 elements measure the same function with its sizes rounded up by zeros to multiples of 256; zeros
are not counted as size ("padded"). README.md describes the columns.
"""

import argparse
import json
import random
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import gguf_file
import kmeans
from llama_model import Llama, padded, write_folder

ROOT = Path(__file__).resolve().parents[2]
LLAMA_TYPES = ["IQ2_XXS", "IQ2_S", "Q2_K", "IQ3_XXS", "Q3_K_S", "Q3_K_M", "IQ4_XS", "Q4_K_S", "Q4_K_M"]
CALIBRATION_TOKENS, HELD_OUT_TOKENS = 16384, 8192


class Pippin:
    def __init__(self, program, threads):
        self.program, self.threads = program, str(threads)

    def run(self, *arguments, given=""):
        done = subprocess.run([self.program, *map(str, arguments)], input=given, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"pippin {' '.join(map(str, arguments))[:200]}: {done.stderr.strip()}")
        return done.stdout

    def tokenize(self, folder, text):
        return json.loads(self.run("tokenize", folder, "-", "--jsonl", given=json.dumps(text) + "\n"))

    def agreement(self, model, source, ids, window):
        report = json.loads(self.run("verify", model, "--against", source, "--ids", ",".join(map(str, ids)), "--window",
                                     window, "--greedy", 0, "--json", "--threads", self.threads))
        return {"kl": report["mean_kl"], "top1": report["top1"], "perplexity": report["perplexity"],
                "source": report["source_perplexity"]}

    def compress(self, package, output, *options):
        start = time.monotonic()
        report = json.loads(self.run("compress", package, "-o", output, "--json", "--threads", self.threads,
                                     *options))["compression"]
        # Weights that a form does not fit stay fp16.
        kept = sum(one["bytes"] for one in report["kept"])
        elements = sum(one["elements"] for one in report["weights"]) + kept // 2
        return 8 * (report["bytes_after"] + kept) / elements, time.monotonic() - start


def stories(pippin, package, seeds):
    """Texts that the model tells."""
    for seed in seeds:
        report = json.loads(pippin.run("run", package, "--raw", "--json", "--temp", 1, "--seed", seed, "-n", 250, "Once",
                                       "--threads", pippin.threads))
        yield "Once" + report["text"]


def conversations(seed):
    """Texts like those that the demo model was made from."""
    sys.path.insert(0, str(ROOT / "models-src"))
    from conversations import conversation
    from template import render
    rng = random.Random(seed)
    while True:
        yield "".join(render(conversation(rng)) for _ in range(8))


def taken(pippin, folder, texts, tokens):
    """Texts of at least so many tokens, and their ids."""
    chosen, ids = [], []
    for text in texts:
        chosen.append(text)
        ids += pippin.tokenize(folder, text)
        if len(ids) >= tokens:
            return "\n".join(chosen), ids[:tokens]


def llama_rows(pippin, options, model, source, calibration, held_out, window, work):
    sums, counts = {}, {}

    def see(name, x):
        sums[name] = sums.get(name, 0) + np.sum(x * x, 0)
        counts[name] = counts.get(name, 0) + len(x)

    for at in range(0, len(calibration), window):
        model.logits(calibration[at:at + window], see)
    for name in ("padded", "as it is"):
        tensors, config = padded(model, 256) if name == "padded" else (model.tensors, model.config)
        plain, imatrix, file = work / "plain.gguf", work / "imatrix.gguf", work / "quantized.gguf"
        gguf_file.write_llama(plain, tensors, config, options.model)
        wide = {key: np.pad(value, (0, tensors[key].shape[1] - len(value))) for key, value in sums.items()}
        gguf_file.write_imatrix(imatrix, wide, counts)
        for kind in LLAMA_TYPES if name == "padded" else ["IQ2_XXS", "Q3_K_M", "IQ4_XS", "Q4_K_M"]:
            command = shlex.split(options.quantize_command) + ["--imatrix", imatrix, plain, file, kind, "1"]
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
            if done.returncode:
                print(f"llama-quantize {kind} ({name}): {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
                continue
            types = gguf_file.tensor_types(file)
            bits = elements = 0
            for tensor, values in model.tensors.items():
                if values.ndim == 2:
                    _, block, size = types[gguf_file.gguf_name(tensor)]
                    bits += values.size * size * 8 / block
                    elements += values.size
            used = sorted({types[gguf_file.gguf_name(one)][0] for one, values in tensors.items() if values.ndim == 2})
            yield {"by": "llama.cpp", "form": f"{kind}, {name}", "bits": bits / elements, "types": used,
                   **pippin.agreement(file, source, held_out, window)}


def kmeans_rows(pippin, model, source, folder, held_out, window, work):
    rng = np.random.default_rng(1)
    for bits in (2, 3, 4):
        for group in (0, 16):
            tensors, size, elements = {}, 0, 0
            for name, values in model.tensors.items():
                tensors[name] = values
                if values.ndim == 2:
                    tensors[name], own = kmeans.palettized(values, bits, group, rng)
                    size += own
                    elements += values.size
            write_folder(folder, tensors, work / "kmeans")
            form = f"palettes of {bits} bits per {f'{group} channels' if group else 'tensor'}"
            yield {"by": "coremltools", "form": form, "bits": size * 8 / elements,
                   **pippin.agreement(work / "kmeans", source, held_out, window)}


def pippin_rows(pippin, options, package, source, held_out, window, calibration, work):
    forms = [(f"--palettize {bits} --group 16", True) for bits in (2, 3, 4)]
    forms += [("--quantize int4", True), ("--quantize int4 --per channel", True)]
    forms += [(f"--mixed {bits}", False) for bits in options.bits.split(",")]
    for form, both in forms:
        for extra in ([[], ["--calibrate"]] if both else [["--calibrate"]]):
            given = [*extra, calibration, "--calibrate-tokens", CALIBRATION_TOKENS] if extra else []
            bits, seconds = pippin.compress(package, work / "small.mlpackage", *form.split(), *given)
            yield {"by": "Pippin", "form": form + (" calibrated" if extra else ""), "bits": bits, "seconds": seconds,
                   **pippin.agreement(work / "small.mlpackage", source, held_out, window)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pippin")
    parser.add_argument("model")
    parser.add_argument("--quantize-command", help="llama-quantize, with whatever starts it")
    parser.add_argument("--bits", default="2.3,2.6,3,3.5,4,4.5,5", help="budgets of --mixed")
    parser.add_argument("--only", default="llama,pippin,kmeans", help="which rows")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", help="file to write the rows to")
    options = parser.parse_args()
    pippin = Pippin(options.pippin, options.threads)
    model = Llama(options.model)
    window = model.config["max_position_embeddings"]
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        package = work / "plain.mlpackage"
        pippin.run("convert", options.model, "-o", package)
        if (Path(options.model) / "chat_template.jinja").exists() or "chat_template" in (
                Path(options.model) / "tokenizer_config.json").read_text():
            first, second = conversations(1), conversations(2)
        else:
            first, second = stories(pippin, package, range(1, 1000)), stories(pippin, package, range(1001, 2000))
        text, seen = taken(pippin, options.model, first, CALIBRATION_TOKENS)
        _, held_out = taken(pippin, options.model, second, HELD_OUT_TOKENS)
        calibration = work / "calibration.txt"
        calibration.write_text(text)
        rows = []
        made = {"pippin": lambda: pippin_rows(pippin, options, package, options.model, held_out, window, calibration, work),
                "kmeans": lambda: kmeans_rows(pippin, model, options.model, options.model, held_out, window, work),
                "llama": lambda: llama_rows(pippin, options, model, options.model, seen, held_out, window, work)}
        for which in options.only.split(","):
            if which == "llama" and not options.quantize_command:
                continue
            for row in made[which]():
                rows.append(row)
                print(f"{row['by']:12} {row['form']:45} {row['bits']:6.3f} bits  perplexity {row['perplexity']:9.4f}  "
                      f"KL {row['kl']:.5f}  same {100 * row['top1']:5.1f} %  {','.join(row.get('types', []))}"
                      f"{'' if 'seconds' not in row else ' %.1f s' % row['seconds']}", flush=True)
        print(f"perplexity of the source {rows[0]['source']:.4f}, {len(held_out)} tokens")
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
