"""Trains the demo model: python3 train.py FOLDER [--steps N]. See README.md."""

import argparse
import ctypes
import math
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch
import torch.nn.functional as F

import tokenizer as bpe
from conversations import conversation, drill, hard_drill
from data import batch
from export import export
from llama import Config, Llama
from muon import Muon
from template import render

SEED = 20240229
TOKENIZER_TEXTS = 30_000
THREADS = 2
MUON_RATE, ADAM_RATE, WARMUP, HORIZON, COOL_DOWN, LAST_SHARE = 0.02, 4e-3, 50, 2000, 300, 0.02


def portions_at(step):
    """The composition of a step's batch: counts, kinds and maximum tokens."""
    # Short ones first: with many of them the model soon learns to copy a name from the prompt, which it learns slowly
    # from long stories alone. Then stories. Then the facts, of which there are many.
    if step < 300:
        return [(128, conversation, 72)]
    if step < 550:
        return [(32, conversation, 512)]
    if step < 700:
        return [(8, conversation, 512), (16, conversation, 72), (56, drill, 96)]
    return [(16, conversation, 512), (12, conversation, 72), (48, hard_drill, 96)]


def share_at(step, steps):
    """The fraction of the full learning rate: a slow decrease, then a linear one at the end."""
    if step < WARMUP:
        return (step + 1) / WARMUP
    slow = LAST_SHARE + (1 - LAST_SHARE) * 0.5 * (1 + math.cos(math.pi * (step - WARMUP) / (HORIZON - WARMUP)))
    return slow * min(1, (steps - step) / COOL_DOWN)


def make_tokenizer(config):
    rng = random.Random(SEED)
    texts = [render(conversation(rng)) for _ in range(TOKENIZER_TEXTS)]
    return bpe.Tokenizer(bpe.train(texts, config.vocab_size))


def make_optimizers(model):
    matrices = [p for name, p in model.named_parameters() if p.dim() == 2 and "embed" not in name]
    others = [p for name, p in model.named_parameters() if p.dim() < 2 or "embed" in name]
    adam = torch.optim.AdamW(others, lr=ADAM_RATE, betas=(0.9, 0.98), eps=1e-9, weight_decay=0.0, foreach=True)
    return [(Muon(matrices, lr=MUON_RATE), MUON_RATE), (adam, ADAM_RATE)]


def gradients(model, group, total, low_precision):
    """A group's part of the mean loss over `total` tokens, and its gradients."""
    inputs, targets = group
    # bfloat16 products make a step several times faster; weights and sums stay float32.
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=low_precision):
        hidden = model.hidden(inputs)
        chosen = targets >= 0
        logits = model.logits(hidden[chosen])
    loss = F.cross_entropy(logits.float(), targets[chosen], reduction="sum") / total
    return loss.item(), torch.autograd.grad(loss, list(model.parameters()))


def learn(model, groups, pool, low_precision):
    """Sets the gradients of the mean loss over all groups; returns that loss."""
    total = sum(int((targets >= 0).sum()) for _, targets in groups)
    parts = pool.map(lambda group: gradients(model, group, total, low_precision), groups)
    # Summed in the order of the groups, whichever thread is done first, so that runs agree.
    loss_sum, sums = 0.0, None
    for loss, grads in parts:
        loss_sum += loss
        sums = list(grads) if sums is None else [a.add_(b) for a, b in zip(sums, grads)]
    for parameter, grad in zip(model.parameters(), sums):
        parameter.grad = grad
    return loss_sum


def keep_memory():
    """Tells glibc not to return freed memory to the system: fresh pages cost more than the arithmetic on them."""
    libc = ctypes.CDLL(None)
    m_trim_threshold, m_top_pad, m_mmap_max = -1, -2, -4
    libc.mallopt(m_mmap_max, 0)
    libc.mallopt(m_trim_threshold, 2**31 - 1)
    libc.mallopt(m_top_pad, 2**28)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--save-every", type=int, default=50)
    parser.add_argument("--float32", action="store_true", help="slower, for processors without bfloat16")
    options = parser.parse_args()

    keep_memory()
    # Threads that each take whole groups do not wait for each other in every operation, as torch's threads do, which
    # matters if other processes use the CPU.
    torch.set_num_threads(1)
    pool = ThreadPoolExecutor(THREADS, initializer=torch.set_num_threads, initargs=(1,))
    torch.manual_seed(SEED)
    config = Config()
    model = Llama(config)
    optimizers = make_optimizers(model)
    checkpoint = options.folder.with_name(options.folder.name + ".checkpoint")
    first = 0
    if not checkpoint.exists():
        tokenizer = make_tokenizer(config)
    else:
        tokenizer = bpe.Tokenizer.load(options.folder / "tokenizer.json")
        saved = torch.load(checkpoint)
        model.load_state_dict(saved["model"])
        for (optimizer, _), state in zip(optimizers, saved["optimizers"]):
            optimizer.load_state_dict(state)
        first = saved["step"]
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters, from step {first}", flush=True)

    start, seen, mean = time.time(), 0, None
    for step in range(first, options.steps):
        # A step's data depends only on its number, so a resumed run sees the same data as an uninterrupted one.
        groups = list(batch(SEED * 100_000 + step, portions_at(step), tokenizer))
        loss = learn(model, groups, pool, not options.float32)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer, rate in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate * share_at(step, options.steps)
            optimizer.step()
        seen += sum(inputs.numel() for inputs, _ in groups)
        mean = loss if mean is None else 0.95 * mean + 0.05 * loss
        if (step + 1) % 20 == 0:
            seconds = time.time() - start
            print(f"step {step + 1} loss {mean:.4f} {seconds / 60:.1f} min {seen / seconds:.0f} tokens/s", flush=True)
        if (step + 1) % options.save_every == 0 or step + 1 == options.steps:
            export(options.folder, model, tokenizer)
            torch.save({"model": model.state_dict(), "step": step + 1,
                        "optimizers": [optimizer.state_dict() for optimizer, _ in optimizers]}, checkpoint.with_suffix(".part"))
            checkpoint.with_suffix(".part").rename(checkpoint)


if __name__ == "__main__":
    main()
