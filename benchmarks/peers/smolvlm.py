"""Compares the time of a SmolVLM's vision tower, and to the first token, with llama.cpp's.

    PYTHONPATH=build/release/python python3 benchmarks/peers/smolvlm.py --mtmd "llama-mtmd-cli" -t 2 -r 5

Writes a model with random weights as a Hugging Face folder and as llama.cpp's two files (F16), and a picture for each
round, of 2 x 2 tiles and the whole: towers keep the rows of pictures that they have seen. Both programs run in turns on
the same files; `--form folder` has Pippin run the folder. Prints medians in milliseconds: `tower`, from the picture's
file to its rows (llama.cpp: its encoding alone), and `first token`, from the picture's file to the first token, both
without loading. Pippin's first round, which also plans the programs, is left out.
"""

import argparse
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from pippin import lm

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "vision"))
import smolvlm_gguf
from smolvlm_folder import write_png

QUESTION = "describe this picture"


def run_llama(command, folder, picture, threads):
    arguments = [*shlex.split(command), "-m", folder / "model-f16.gguf", "--mmproj", folder / "mmproj-model-f16.gguf",
                 "--image", picture, "-p", QUESTION, "-n", "1", "--temp", "0", "-t", str(threads), "--jinja", "-v"]
    done = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, errors="replace", check=False)
    log = done.stdout + done.stderr
    tower = [float(x) for x in re.findall(r"encoding done in (\d+) ms", log)]
    prompt = re.search(r"prompt eval time =\s*([\d.]+) ms", log)
    if done.returncode != 0 or not tower or prompt is None:
        sys.exit(f"{command}: exit status {done.returncode}\n{log[-2000:]}")
    return sum(tower), float(prompt[1])


def run_pippin(model, tokenizer, picture):
    start = time.perf_counter()
    prompt = model.prompt([{"role": "user", "content": [{"type": "image", "path": str(picture)},
                                                        {"type": "text", "text": QUESTION}]}])
    tower = time.perf_counter() - start
    next(iter(lm.stream_generate(model, tokenizer, prompt, max_tokens=1)))
    return 1000 * tower, 1000 * (time.perf_counter() - start)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mtmd", default="llama-mtmd-cli", metavar="COMMAND")
    parser.add_argument("--shape", default="256m", choices=smolvlm_gguf.SHAPES)
    parser.add_argument("--form", default="gguf", choices=["gguf", "folder"])
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("-r", "--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="of the models, which stay (a temporary one, removed)")
    given = parser.parse_args()
    shape = smolvlm_gguf.SHAPES[given.shape]
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        if not (folder / "picture.png").exists():
            smolvlm_gguf.write_all(folder, shape)
        source = folder / ("model" if given.form == "folder" else "model-f16.gguf")
        model, tokenizer = lm.load(source, num_threads=given.threads)
        times = {"pippin": [], "llama.cpp": []}
        random = np.random.default_rng(1)
        for turn in range(given.rounds + 1):
            picture = folder / f"picture{turn}.png"
            write_png(picture, random.integers(0, 256, (2 * shape.tile, 2 * shape.tile, 3), np.uint8))
            own = run_pippin(model, tokenizer, picture)
            if turn == 0:
                continue
            times["pippin"].append(own)
            times["llama.cpp"].append(run_llama(given.mtmd, folder, picture, given.threads))
        for name, samples in times.items():
            tower, first = (statistics.median(one) for one in zip(*samples))
            print(f"{name:10} tower {tower:8.1f} ms   first token {first:8.1f} ms")


if __name__ == "__main__":
    main()
