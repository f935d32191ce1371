"""The part of transformers that scripts for coremltools need to read and write text, based on Pippin's tokenizers."""

import numpy as np

import pippin


class Encoding(dict):
    @property
    def input_ids(self):
        return self["input_ids"]

    def to(self, dtype):
        return Encoding({name: value.to(dtype) for name, value in self.items()})


def _as(ids, kind):
    if kind is None:
        return ids
    ids = np.array([ids], np.int64)
    if kind == "np":
        return ids
    import torch

    return torch.from_numpy(ids)


class AutoTokenizer:
    model_max_length = 1 << 30
    pad_token = unk_token = chat_template = None
    bos_token, eos_token = "<s>", "</s>"
    bos_token_id, unk_token_id, pad_token_id = 1, 0, 0
    padding_side = "right"

    def __init__(self, path):
        self.model = pippin.LanguageModel(str(path))
        self.eos_token_id = self.model.end_tokens[0]

    @classmethod
    def from_pretrained(cls, path, **options):
        return cls(path)

    def __call__(self, text, return_tensors=None, add_special_tokens=True, **options):
        return Encoding(input_ids=_as(self.model.encode(text, add_special_tokens), return_tensors))

    def apply_chat_template(self, messages, return_tensors=None, **options):
        return _as(self.model.encode_chat(messages), return_tensors)

    def decode(self, ids, skip_special_tokens=False, **options):
        return self.model.decode([int(one) for one in np.asarray(ids).reshape(-1)], skip_special_tokens)

    def __len__(self):
        return self.model.vocab_size


LlamaTokenizer = AutoTokenizer
