#!/usr/bin/env python3
"""Times of a Whisper model's encoder and decoder in Pippin and in whisper.cpp, in turns on one machine.

    compare.py --pippin build/release/pippin/cli/pippin --whisper-bench /usr/bin/whisper-bench MODEL.bin

MODEL.bin is a GGML file: make_whisper.py writes one of random weights, whisper-quantize quantizes it. Each turn runs
`pippin bench` and whisper-bench once; the medians of all turns and their ratios are printed. A command with arguments
is quoted: --whisper-bench "ld-linux-x86-64.so.2 --library-path lib whisper-bench".
"""

import argparse
import json
import re
import shlex
import statistics
import subprocess


def run(command, *arguments):
    return subprocess.run([*shlex.split(command), *map(str, arguments)], capture_output=True, text=True, check=True)


def pippin(options):
    extra = shlex.split(options.pippin_options)
    model = options.pippin_model or options.model
    found = json.loads(run(options.pippin, "bench", model, "--json", "-t", options.threads, "-r", 1, "-n",
                           options.tokens, *extra).stdout)
    return found["encoder_seconds"] * 1e3, found["token_seconds"] * 1e3, found["peak_memory_bytes"]


def whisper(options):
    text = run(options.whisper_bench, "-m", options.model, "-t", options.threads).stderr

    def per_run(name):
        return float(re.search(name + r" time = .*\( *([0-9.]+) ms per run\)", text)[1])

    return per_run("encode"), per_run("decode")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--pippin", default="pippin")
    parser.add_argument("--pippin-model", help="another form of the model for Pippin")
    parser.add_argument("--pippin-options", default="", help="further options of pippin bench")
    parser.add_argument("--whisper-bench", default="whisper-bench")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    rows = []
    for turn in range(options.turns):
        rows.append((*pippin(options), *whisper(options)))
        print(f"turn {turn + 1}: encoder {rows[-1][0]:.1f} {rows[-1][3]:.1f} ms, "
              f"token {rows[-1][1]:.2f} {rows[-1][4]:.2f} ms", flush=True)
    encoder, token, memory, other_encoder, other_token = (statistics.median(column) for column in zip(*rows))
    ratio = statistics.median(row[3] / row[0] for row in rows), statistics.median(row[4] / row[1] for row in rows)
    print("| | Pippin | whisper.cpp | ratio in turns |\n|---|---|---|---|")
    print(f"| encoder, ms | {encoder:.1f} | {other_encoder:.1f} | {ratio[0]:.2f} |")
    print(f"| decoder, ms per token | {token:.2f} | {other_token:.2f} | {ratio[1]:.2f} |")
    print(f"Pippin's peak memory: {memory / 1e9:.2f} GB")


if __name__ == "__main__":
    main()
