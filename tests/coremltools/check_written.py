#!/usr/bin/env python3
"""Reads and type-checks the output of `pippin convert` with coremltools' own code.

    PIPPIN=PROGRAM COREMLTOOLS=DIR check_written.py [--all]

DIR is a checkout of apple/coremltools (the folder that holds `coremltools/`). Small checkpoints of the shared test data
are converted in every family and compressed in every form, and each package goes through
tools/coremltools/check.py of the same folder, which needs Debian's python3-{numpy,protobuf,packaging,attr,cattr,tqdm,
sympy,yaml} (COREMLTOOLS_PYTHON: another interpreter that has them). --all takes every checkpoint of
data/architectures with every family and form, an hour's work; a family that cannot hold a model is counted as refused.
Exit status 77 (skipped) if there is no checkout, no shared data or no such Python, 1 if a package failed.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from checker import SHARED, checker

FAMILIES = {
    "stateful": [],
    "stateful of fixed lengths": ["--query-lengths", "1,16", "--prefill", "32"],
    "anemll": ["--family", "anemll"],
    "anemll in parts": ["--family", "anemll", "--chunks", "2", "--argmax-in-model"],
    "windowed": ["--family", "windowed"],
    "windowed without a fold": ["--family", "windowed", "--window", "32", "--cache", "96"],
}
FORMS = {
    "none": [],
    "int4": ["--quantize", "int4"],
    "uint4": ["--quantize", "uint4", "--asymmetric", "--per", "channel"],
    "int8": ["--quantize", "int8"],
    "uint8 of tensors": ["--quantize", "uint8", "--per", "tensor", "--asymmetric"],
    "palettes of 1 bit": ["--palettize", "1"],
    "palettes of 2 bits": ["--palettize", "2"],
    "palettes of 3 bits": ["--palettize", "3", "--group", "8"],
    "palettes of 4 bits": ["--palettize", "4"],
    "palettes of 6 bits": ["--palettize", "6", "--enable-per-channel-scale"],
    "palettes of 8 bits": ["--palettize", "8"],
    "palettes of vectors": ["--palettize", "4", "--cluster-dim", "2"],
    "palettes of integers": ["--palettize", "4", "--lut-dtype", "int8"],
    "pruned": ["--prune", "0.5"],
    "pruned by structure": ["--n-m-ratio", "2:4"],
    "pruned int8": ["--prune", "0.5", "--quantize", "int8"],
    "pruned palettes": ["--prune", "0.5", "--palettize", "4"],
}
# Between them: tied and biased weights, windows, soft caps, ALiBi, learned positions, a rope of two lengths.
MODELS = ["llama_gqa_llama3_tied", "qwen3", "gemma2", "gemma3", "phi3_longrope_cross", "gpt2", "bloom"]
# Experts (with sinks, corrected sigmoids), latent attention, short convolutions.
STATEFUL_MODELS = ["mixtral", "lfm2", "gpt_oss", "deepseek_v2_group", "deepseek_v3"]
# Encoders, which become the family `encoder`, and one with a decoder.
ENCODER_MODELS = [f"../architectures2/{name}" for name in
                  ("gemma3_embed", "modernbert_cls", "nomic_bert_mean", "qwen3_lasttoken", "flan_t5")]
# Models that recognize speech: CTC by samples and by features, and a transducer.
SPEECH_MODELS = [f"../models2026/speech/{name}" for name in ("wavlm", "wav2vec2_bert", "parakeet_tdt", "lasr_ctc")]
# Every form in every family.
THOROUGH = ["qwen2"]
WHISPER_FAMILIES = {"whisperkit": ["--family", "whisperkit"]}
WHISPER_MODELS = ["../models2026/speech/whisper_80", "../models2026/speech/whisper_short"]
WHISPER_FORMS = ["none", "int8", "palettes of 6 bits", "pruned"]


def conversions(take_all):
    """(checkpoint, family, form) for each package or folder of packages."""
    if take_all:
        models = sorted(p.name for p in (SHARED / "data/architectures").iterdir() if (p / "config.json").exists())
        return [(m, family, form) for m in models for family in FAMILIES for form in FORMS]
    result = [(m, family, "none") for m in MODELS for family in FAMILIES]
    result += [(m, "stateful", "none") for m in STATEFUL_MODELS + ENCODER_MODELS + SPEECH_MODELS]
    result += [(m, family, form) for m in WHISPER_MODELS for family in WHISPER_FAMILIES for form in WHISPER_FORMS]
    return result + [(m, family, form) for m in THOROUGH for family in FAMILIES for form in FORMS]


def convert(pippin, source, family, form, out):
    """An empty text, or the program's message if it refuses."""
    arguments = [*{**FAMILIES, **WHISPER_FAMILIES}[family], *FORMS[form]]
    if form != "none":
        arguments += ["--min-elements", "1"]
    context = "64" if family in WHISPER_FAMILIES else "128"
    done = subprocess.run([pippin, "convert", source, "-o", out, "--context", context, *arguments],
                          capture_output=True, text=True)
    if done.returncode < 0:
        return f"killed by signal {-done.returncode}"
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit status {done.returncode}"


def main():
    pippin = os.environ.get("PIPPIN") or sys.exit("PIPPIN: the built program")
    run_checker = checker()

    counts = {"conversions": 0, "refused": 0, "packages": 0, "failed": 0}
    batch = []
    with tempfile.TemporaryDirectory() as folder:
        def check():
            packages = sorted(str(p) for p in Path(folder).rglob("*.mlpackage"))
            if not packages:
                return
            done = run_checker(packages)
            lines = [line for line in done.stdout.splitlines() if line.startswith(("ok", "FAIL"))]
            counts["packages"] += len(packages)
            counts["failed"] += sum(line.startswith("FAIL") for line in lines)
            for line in lines:
                if line.startswith("FAIL"):
                    number = int(Path(line.split()[1]).relative_to(folder).parts[0].split(".")[0])
                    print("FAIL", ", ".join(batch[number]), line.replace(folder + "/", "")[4:])
            if len(lines) != len(packages):  # the checker itself failed
                counts["failed"] += len(packages) - len(lines)
                print("FAIL", done.stderr.strip()[-2000:])
            subprocess.run(["rm", "-r", *(str(p) for p in Path(folder).iterdir())], check=True)

        take_all = "--all" in sys.argv[1:]
        for model, family, form in conversions(take_all):
            single = family.startswith("stateful")
            out = os.path.join(folder, str(len(batch)) + (".mlpackage" if single else ""))
            refusal = convert(pippin, SHARED / "data/architectures" / model, family, form, out)
            counts["conversions"] += 1
            batch.append((model, family, form))
            if refusal:
                accepted = take_all and refusal.startswith("pippin: error: ") and "\n" not in refusal
                counts["refused" if accepted else "failed"] += 1
                print("refused" if accepted else "FAIL", f"{model}, {family}, {form}: {refusal[:300]}")
            if len(batch) == 24:
                check()
                batch.clear()
        check()
    print(json.dumps(counts), flush=True)
    sys.exit(1 if counts["failed"] or not counts["packages"] else 0)


main()
