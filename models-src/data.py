"""Conversations as token ids with the positions to learn, and batches of them."""

import random

import torch

from template import render

GROUP_TOKENS = 1536


def example(rng, make, tokenizer, limit):
    """ids, and for each position whether the next token is the model's own; cut at a whole turn."""
    while True:
        ids, learn = [], []
        for message in make(rng):
            text = render([message])
            part = tokenizer.encode(text)
            own = [False] * len(part)
            if message["role"] == "assistant":
                # After "<|im_start|>assistant\n" up to <|im_end|>; not the line end after that.
                head = len(tokenizer.encode("<|im_start|>assistant\n"))
                own[head - 1:len(part) - 2] = [True] * (len(part) - 1 - head)
            if len(ids) + len(part) > limit:
                break
            ids += part
            learn += own
        if any(learn):
            return ids, learn


def grouped(examples, limit):
    """The examples in groups of similar lengths that hold at most `limit` tokens with their padding."""
    group = []
    for pair in sorted(examples, key=lambda pair: len(pair[0])):
        if group and (len(group) + 1) * len(pair[0]) > limit:
            yield group
            group = []
        group.append(pair)
    yield group


def batch(seed, portions, tokenizer):
    """Portions are (count, conversation generator, maximum tokens). Returns padded tensors (ids, targets), with -100
    where nothing is learnt. Padding needs no mask, since it is after all tokens that count."""
    rng = random.Random(seed)
    examples = [example(rng, make, tokenizer, limit) for count, make, limit in portions for _ in range(count)]
    for group in grouped(examples, GROUP_TOKENS):
        length = max(len(ids) for ids, _ in group)
        inputs = torch.zeros(len(group), length - 1, dtype=torch.long)
        targets = torch.full((len(group), length - 1), -100)
        for row, (ids, learn) in enumerate(group):
            inputs[row, :len(ids) - 1] = torch.tensor(ids[:-1])
            wanted = torch.tensor(ids[1:])
            wanted[~torch.tensor(learn[:-1])] = -100
            targets[row, :len(ids) - 1] = wanted
        yield inputs, targets
