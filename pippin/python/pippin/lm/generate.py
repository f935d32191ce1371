"""Language models, with the functions that users of mlx-lm know.

>>> from pippin import lm
>>> model, tokenizer = lm.load("demo")
>>> prompt = tokenizer.apply_chat_template([{"role": "user", "content": "Tell me a story."}])
>>> len(lm.generate(model, tokenizer, prompt, max_tokens=8)) > 0
True
"""

import sys
from dataclasses import dataclass

from ._pippin import LanguageModel, Sequence

__all__ = [
    "GenerationResponse", "Tokenizer", "can_trim_prompt_cache", "generate", "load", "load_prompt_cache",
    "make_logits_processors", "make_prompt_cache", "make_sampler", "save_prompt_cache", "stream_generate",
    "trim_prompt_cache",
]


@dataclass
class GenerationResponse:
    """A token's worth of a text."""

    text: str
    token: int  # -1: text that was held back, at the end
    prompt_tokens: int
    prompt_tps: float  # tokens per second; known at the end
    generation_tokens: int
    generation_tps: float
    finish_reason: str | None = None  # "stop" or "length", of the last one
    from_draft: bool = False
    logprobs: None = None
    peak_memory: float = 0.0


class Tokenizer:
    """A model's tokenizer and chat template."""

    def __init__(self, model):
        self._model = model

    @property
    def vocab_size(self):
        return self._model.vocab_size

    @property
    def eos_token_ids(self):
        return set(self._model.end_tokens)

    @property
    def has_chat_template(self):
        return self._model.has_chat_template

    def encode(self, text, add_special_tokens=True):
        return self._model.encode(text, add_special_tokens)

    def decode(self, tokens, skip_special_tokens=False):
        return self._model.decode(list(tokens), skip_special_tokens)

    def apply_chat_template(self, messages, add_generation_prompt=True, tokenize=True):
        """Tokens of a conversation, a list of {"role", "content"}, up to where the answer begins."""
        if not add_generation_prompt:
            raise NotImplementedError("apply_chat_template: only with add_generation_prompt=True")
        tokens = self._model.encode_chat(messages)
        return tokens if tokenize else self._model.decode(tokens, False)


def load(path_or_hf_repo, tokenizer_config=None, *, tokenizer="", chat_template="", context=0, num_threads=0):
    """A model and its tokenizer: of a package, a folder, org/name on the Hub, or "demo"."""
    if tokenizer_config:
        raise NotImplementedError("load: tokenizer_config is not taken; the model's own files say what there is")
    model = LanguageModel(
        str(path_or_hf_repo), tokenizer=str(tokenizer), chat_template=str(chat_template), context=context,
        num_threads=num_threads)
    return model, Tokenizer(model)


def make_sampler(temp=0.0, top_p=0.0, min_p=0.0, min_tokens_to_keep=1, top_k=0, xtc_probability=0.0,
                 xtc_threshold=0.0, xtc_special_tokens=(), seed=None):
    """How tokens are chosen. 0 is off, and temp=0 the most likely token."""
    if min_tokens_to_keep != 1:
        raise NotImplementedError("make_sampler: min_tokens_to_keep is 1")
    if xtc_special_tokens:
        raise NotImplementedError("make_sampler: xtc_special_tokens is not taken")
    options = {"temperature": float(temp), "top_p": float(top_p) or 1.0, "min_p": float(min_p), "top_k": int(top_k)}
    if xtc_probability:
        options.update(xtc_probability=float(xtc_probability), xtc_threshold=float(xtc_threshold))
    if seed is not None:
        options["seed"] = int(seed)
    return options


def make_logits_processors(logit_bias=None, repetition_penalty=None, repetition_context_size=20,
                           presence_penalty=None, presence_context_size=20, frequency_penalty=None,
                           frequency_context_size=20):
    """Penalties and biases, as a list of options. Penalties look at as many of the last tokens as
    the largest of their context sizes."""
    options = {}
    sizes = []
    for name, value, size in (
        ("repetition_penalty", repetition_penalty, repetition_context_size),
        ("presence_penalty", presence_penalty, presence_context_size),
        ("frequency_penalty", frequency_penalty, frequency_context_size),
    ):
        if value:
            options[name] = float(value)
            sizes.append(size or 0)
    if sizes:
        options["penalty_last_n"] = 0 if 0 in sizes else max(sizes)
    if logit_bias:
        options["logit_bias"] = {int(token): float(bias) for token, bias in logit_bias.items()}
    return [options] if options else []


def make_prompt_cache(model, max_kv_size=None):
    """What a model remembers of a conversation; given to generate() again, it goes on from there."""
    if max_kv_size is not None:
        raise NotImplementedError("make_prompt_cache: max_kv_size is not taken; load() has context")
    return model.new_sequence()


def save_prompt_cache(file_name, cache, metadata=None):
    if metadata:
        raise NotImplementedError("save_prompt_cache: metadata is not kept")
    cache.save(str(file_name))


def load_prompt_cache(file_name, model):
    """Of a file that save_prompt_cache() wrote, for the model that it was made by."""
    cache = model.new_sequence()
    cache.restore(str(file_name))
    return cache


def can_trim_prompt_cache(cache):
    return isinstance(cache, Sequence)


def trim_prompt_cache(cache, num_tokens):
    """Drops the last tokens; how many."""
    trimmed = min(num_tokens, cache.position)
    if trimmed > 0:
        cache.truncate(cache.position - trimmed)
    return trimmed


def _tokens_of(model, tokenizer, prompt):
    if isinstance(prompt, str):
        return tokenizer.encode(prompt)
    return [int(token) for token in prompt]


def stream_generate(model, tokenizer, prompt, max_tokens=256, *, sampler=None, logits_processors=None,
                    prompt_cache=None, stop=(), json_schema=None, grammar=None, regex=None, choices=None,
                    drafts=True):
    """Yields a GenerationResponse for each token. `prompt` is a text or tokens. Leaving the loop
    ends the text. An answer can be held to a JSON Schema, a GBNF grammar, a regular expression, or
    a list of choices."""
    tokens = _tokens_of(model, tokenizer, prompt)
    options = {"max_tokens": int(max_tokens), "stop": list(stop), "drafts": bool(drafts)}
    for more in [sampler or make_sampler(), *(logits_processors or [])]:
        if not isinstance(more, dict):
            raise TypeError("sampler and logits_processors come from make_sampler() and make_logits_processors()")
        options.update(more)
    for name, value in (("json_schema", json_schema), ("grammar", grammar), ("regex", regex), ("choices", choices)):
        if value is not None:
            options[name] = value
    sequence = prompt_cache if prompt_cache is not None else model.new_sequence()
    generation = model.generate(sequence, tokens, options)
    count = 0
    held = None  # the last response, until it is known whether it is the last one
    try:
        for token, text in generation:
            if held is not None:
                yield held
            count += token >= 0
            held = GenerationResponse(text, token, len(tokens), 0.0, count, 0.0)
    finally:
        generation.close()
    timings = generation.timings
    if held is None:
        held = GenerationResponse("", -1, len(tokens), 0.0, 0, 0.0)
    held.prompt_tps = timings["prompt_tokens_per_second"]
    held.generation_tps = timings["tokens_per_second"]
    held.finish_reason = "stop" if generation.reason in ("end of text", "stop string") else "length"
    yield held


def generate(model, tokenizer, prompt, verbose=False, **options):
    """The whole text. verbose=True writes it to stdout as it comes, and its speed behind it."""
    text = ""
    response = None
    for response in stream_generate(model, tokenizer, prompt, **options):
        text += response.text
        if verbose:
            sys.stdout.write(response.text)
            sys.stdout.flush()
    if verbose and response is not None:
        print(f"\n{'=' * 10}\nPrompt: {response.prompt_tokens} tokens, {response.prompt_tps:.1f} tokens-per-sec\n"
              f"Generation: {response.generation_tokens} tokens, {response.generation_tps:.1f} tokens-per-sec")
    return text
