"""Generates texts, token by token and as a whole."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _pippin
from .._errors import InvalidArgumentError, UnsupportedError
from .._pippin import LanguageModel, VisionPrompt
from .models.cache import PromptCache, check_kv_size, sequence_of
from .sample_utils import make_sampler
from .tokenizer_utils import TokenizerWrapper, as_tokens

__all__ = ["BatchResponse", "BatchStats", "GenerationResponse", "batch_generate", "generate", "generate_step",
           "stream_generate"]

_GIGABYTE = 1e9


@dataclass
class GenerationResponse:
    """One token of a text. The last one has a finish_reason, and its token is the end token if there was
    one.

    >>> from pippin import lm
    >>> model, tokenizer = lm.load("demo")
    >>> first, last = lm.stream_generate(model, tokenizer, "Once upon a time", max_tokens=2)
    >>> first.generation_tokens, first.finish_reason, last.finish_reason
    (1, None, 'length')
    >>> first.logprobs.argmax() == first.token
    True
    """

    text: str
    token: int  # -1: none
    from_draft: bool
    prompt_tokens: int
    prompt_tps: float  # tokens per second
    generation_tokens: int
    generation_tps: float
    finish_reason: str | None = None  # "stop" or "length"
    logits: Any = field(default=None, repr=False, compare=False)

    @property
    def logprobs(self) -> Any:
        """The log probabilities of all tokens, an array that is computed on first use; None
        with logprobs=False."""
        return None if self.logits is None else self.logits.logprobs()

    @property
    def peak_memory(self) -> float:
        """The peak memory of this process so far, in gigabytes."""
        return _pippin._peak_memory() / _GIGABYTE


@dataclass
class BatchStats:
    """The cost of a batch: seconds, and gigabytes of memory.

    >>> from pippin import lm
    >>> model, tokenizer = lm.load("demo")
    >>> lm.batch_generate(model, tokenizer, ["Once", "One day"], max_tokens=2).stats.generation_tokens
    4
    """

    prompt_tokens: int = 0
    prompt_tps: float = 0.0
    prompt_time: float = 0.0
    generation_tokens: int = 0
    generation_tps: float = 0.0
    generation_time: float = 0.0
    peak_memory: float = 0.0


@dataclass
class BatchResponse:
    """Texts in the order of their prompts, with the additional results requested.

    >>> from pippin import lm
    >>> model, tokenizer = lm.load("demo")
    >>> prompts = ["Once", "One day"]
    >>> response = lm.batch_generate(model, tokenizer, prompts, max_tokens=[2, 3], return_token_ids=True)
    >>> [len(tokens) for tokens in response.token_ids]
    [2, 3]
    """

    texts: list[str]
    stats: BatchStats
    caches: list[PromptCache] | None = None
    token_ids: list[list[int]] | None = None
    logprobs: list[list[float]] | None = None  # of each token


def _prompt_of(model: LanguageModel, tokenizer: Any, prompt: Any, images: Any = None) -> VisionPrompt | list[int]:
    if isinstance(prompt, (list, tuple)) and prompt and isinstance(prompt[0], Mapping):
        template = tokenizer.template() if isinstance(tokenizer, TokenizerWrapper) else None
        return model.prompt(prompt, images, chat_template=template)
    if not isinstance(prompt, str):
        if images is not None:
            raise InvalidArgumentError("images: they belong to a text or to messages, not to tokens")
        return prompt if isinstance(prompt, VisionPrompt) else as_tokens(prompt)
    if not hasattr(tokenizer, "encode"):
        raise TypeError("prompt: a text needs a tokenizer; give tokens")
    bos = getattr(tokenizer, "bos_token", None)
    adds = not (bos and prompt.startswith(bos))
    if images is not None:
        return model.prompt(prompt, images, add_special_tokens=adds)
    return as_tokens(tokenizer.encode(prompt, add_special_tokens=adds))


def _refuse_quantized(kv_bits: int | None, input_embeddings: Any = None) -> None:
    if kv_bits is not None:
        raise UnsupportedError("kv_bits: the cache's form belongs to the model: load(..., cache_type=\"q8\"), or \"q4\"")
    if input_embeddings is not None:
        raise UnsupportedError("input_embeddings: prompts are texts or tokens")


def _sampling(sampler: Any, logits_processors: Any, tokenizer: Any) -> dict[str, Any]:
    options: dict[str, Any] = {
        "sampler": make_sampler() if sampler is None else sampler, "processors": logits_processors or None}
    ends = getattr(tokenizer, "eos_token_ids", None)
    if ends is not None:
        options["end_tokens"] = sorted(ends)
    return options


def _is_stop(reason: str) -> bool:
    return reason in ("end of text", "stop string")


def stream_generate(
    model: LanguageModel, tokenizer: Any, prompt: Any, max_tokens: int = 256,
    draft_model: LanguageModel | None = None, *,
    sampler: _pippin.Sampler | Callable[[Any], Any] | None = None,
    logits_processors: Sequence[_pippin.LogitsProcessor | Callable[[Any, Any], Any]] | None = None,
    prompt_cache: PromptCache | None = None, max_kv_size: int | None = None, prefill_step_size: int = 2048,
    prompt_progress_callback: Callable[[int, int], object] | None = None, num_draft_tokens: int | None = None,
    kv_bits: int | None = None, kv_group_size: int = 64, quantized_kv_start: int = 0,
    input_embeddings: Any = None, logprobs: bool = True, stop: Sequence[str] = (),
    json_schema: str | None = None, grammar: str | None = None, regex: str | None = None,
    choices: Sequence[str] | None = None, drafts: bool = True, images: Any = None, **sampling: Any,
) -> Iterator[GenerationResponse]:
    """Yields a GenerationResponse for each token. `prompt` is a text; tokens: a list, an array or a VisionPrompt; or
    messages, whose contents may be lists of parts with images (LanguageModel.prompt()). Leaving the loop ends the
    generation.

    images: an image or a list of images, paths, bytes, PIL images or arrays, for the placeholders of a text and for
    parts {"type": "image"} of messages.

    sampler: from make_sampler(), or a function of log probabilities [1, vocabulary] that returns a token.
    logits_processors: from make_logits_processors(), or functions of the tokens so far and logits
    [1, vocabulary] that return logits. Both get NumPy arrays, and are called by the thread that runs the loop.
    prompt_cache: the cache that the text continues and extends. draft_model: a smaller model with the same
    vocabulary, which drafts tokens: when that is faster, or always num_draft_tokens at a time.
    sampling: the program's sampling options by name (temperature, seed, mirostat_tau, dry_multiplier, ...), in place
    of those of the sampler.
    An answer can be constrained to a JSON Schema, a GBNF grammar, a regular expression, or a list of choices.
    Raises InvalidArgumentError for a prompt without tokens, values out of range and an invalid constraint,
    LimitExceededError for a prompt that does not fit the context, and UnsupportedError for kv_bits, input_embeddings
    and a max_kv_size below the context.

    >>> from pippin import lm
    >>> model, tokenizer = lm.load("demo")
    >>> messages = [{"role": "user", "content": "Tell me a story."}]
    >>> prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True)
    >>> [response.text for response in lm.stream_generate(model, tokenizer, prompt, max_tokens=4)]
    ['Once', ' upon', ' a', ' time']
    """
    _refuse_quantized(kv_bits, input_embeddings)
    check_kv_size(model, max_kv_size)
    tokens = _prompt_of(model, tokenizer, prompt, images)
    if not len(tokens):
        raise InvalidArgumentError("prompt: it has no tokens")
    options = sampling | _sampling(sampler, logits_processors, tokenizer)
    options.update(
        max_tokens=int(max_tokens), stop=[stop] if isinstance(stop, str) else list(stop), drafts=bool(drafts),
        draft_model=draft_model, num_draft_tokens=num_draft_tokens, logprobs=bool(logprobs),
        prefill_step_size=prefill_step_size, prompt_progress_callback=prompt_progress_callback,
        json_schema=json_schema, grammar=grammar, regex=regex, choices=None if choices is None else list(choices))
    sequence = model.new_sequence() if prompt_cache is None else sequence_of(prompt_cache, "prompt_cache", model)
    return _responses(model.generate(sequence, tokens, options), len(tokens), int(max_tokens))


def _responses(generation: _pippin.Generation, prompt_tokens: int, max_tokens: int) -> Iterator[GenerationResponse]:
    count, token, from_draft, logits = 0, -1, False, None
    rest = ""
    start = time.perf_counter()
    first = start
    prompt_tps = 0.0
    try:
        for id, text in generation:
            if id < 0:  # text that was held back
                rest += text
                continue
            now = time.perf_counter()
            if count == 0:
                first = now
                prompt_tps = prompt_tokens / max(now - start, 1e-9)
            count += 1
            token, from_draft, logits = id, generation.from_draft, generation.logits
            if count == max_tokens:  # the last one: with the final results
                rest += text
                continue
            yield GenerationResponse(text, id, from_draft, prompt_tokens, prompt_tps, count,
                                     count / max(now - first, 1e-9) if count > 1 else 0.0, None, logits)
    finally:
        generation.close()
    timings = generation.timings
    if generation.end_token is not None:
        token, logits, from_draft = generation.end_token, generation.logits, False
        count += 1
    yield GenerationResponse(
        rest, token, from_draft, prompt_tokens, timings["prompt_tokens_per_second"], count,
        timings["tokens_per_second"], "stop" if _is_stop(generation.reason) else "length", logits)


def generate_step(prompt: Any, model: LanguageModel, *, max_tokens: int = 256,
                  **options: Any) -> Iterator[tuple[int, Any]]:
    """Yields each token after the prompt, a list or an array, with the log probabilities of all. End
    tokens do not end it; max_tokens does. Options are those of stream_generate() that need no text. Raises its errors.

    >>> from pippin import lm
    >>> model, tokenizer = lm.load("demo")
    >>> [token == logprobs.argmax() for token, logprobs in lm.generate_step([401, 433], model, max_tokens=2)]
    [True, True]
    """
    for response in stream_generate(model, _NoEnds(), prompt, max_tokens, **options):
        if response.token >= 0:
            yield response.token, response.logprobs


class _NoEnds:
    eos_token_ids: frozenset[int] = frozenset()


def generate(model: LanguageModel, tokenizer: Any, prompt: Any, verbose: bool = False, **options: Any) -> str:
    """Returns the whole text. verbose=True prints it while it is generated, followed by its speed. Options
    are those of stream_generate(). Raises its errors.

    >>> from pippin import lm
    >>> model, tokenizer = lm.load("demo")
    >>> lm.generate(model, tokenizer, "Is it raining?", choices=["yes", "no"]) in ("yes", "no")
    True
    """
    options.setdefault("logprobs", False)
    text = ""
    response = None
    if verbose:
        print("=" * 10)
    for response in stream_generate(model, tokenizer, prompt, **options):
        text += response.text
        if verbose:
            print(response.text, end="", flush=True)
    if verbose and response is not None:
        print(f"\n{'=' * 10}\nPrompt: {response.prompt_tokens} tokens, {response.prompt_tps:.3f} tokens-per-sec\n"
              f"Generation: {response.generation_tokens} tokens, {response.generation_tps:.3f} tokens-per-sec\n"
              f"Peak memory: {response.peak_memory:.3f} GB")
    return text


def batch_generate(
    model: LanguageModel, tokenizer: Any, prompts: Sequence[Any],
    prompt_caches: Sequence[PromptCache] | None = None, max_tokens: int | Sequence[int] = 128,
    verbose: bool = False, return_prompt_caches: bool = False, return_token_ids: bool = False,
    return_logprobs: bool = False, *, sampler: Any = None, logits_processors: Sequence[Any] | None = None,
    completion_batch_size: int = 32, prefill_batch_size: int = 8, prefill_step_size: int = 2048,
    max_kv_size: int | None = None, stop_tokens: Sequence[Sequence[int]] | None = None,
    json_schema: str | None = None, grammar: str | None = None, regex: str | None = None,
    choices: Sequence[str] | None = None,
) -> BatchResponse:
    """Generates texts for several prompts, each as of stream_generate(), at once: they share each pass over the
    weights, so they take little longer than one. prompt_caches are copied and not changed. max_tokens: one for all, or
    one for each. completion_batch_size: the number of texts generated at a time, each with its own memory. Raises the
    errors of stream_generate(), and InvalidArgumentError for lists of different lengths and sizes below 1.

    >>> from pippin import lm
    >>> model, tokenizer = lm.load("demo")
    >>> prompts = ["Once upon a time", "One day"]
    >>> texts = lm.batch_generate(model, tokenizer, prompts, max_tokens=4).texts
    >>> texts == [lm.generate(model, tokenizer, prompt, max_tokens=4) for prompt in prompts]
    True
    """
    check_kv_size(model, max_kv_size)
    if prefill_batch_size < 1 or prefill_step_size < 1:
        raise InvalidArgumentError(
            f"prefill_batch_size is {prefill_batch_size}, prefill_step_size {prefill_step_size}: 1 at least")
    each = [_prompt_of(model, tokenizer, prompt) for prompt in prompts]
    limits = [max_tokens] * len(each) if isinstance(max_tokens, int) else [int(limit) for limit in max_tokens]
    if len(limits) != len(each) or (prompt_caches is not None and len(prompt_caches) != len(each)):
        raise InvalidArgumentError(
            f"{len(each)} prompts, max_tokens for {len(limits)}"
            + ("" if prompt_caches is None else f", prompt_caches for {len(prompt_caches)}"))
    for place, tokens in enumerate(each):
        if not len(tokens):
            raise InvalidArgumentError(f"prompts[{place}]: it has no tokens")
    shared = _sampling(sampler, logits_processors, tokenizer)
    shared.update(logprobs=bool(return_logprobs), drafts=False, json_schema=json_schema, grammar=grammar, regex=regex,
                  choices=None if choices is None else list(choices))
    if stop_tokens is not None:
        if any(len(tokens) != 1 for tokens in stop_tokens):
            raise UnsupportedError("stop_tokens: each of them is one token")
        shared["end_tokens"] = [tokens[0] for tokens in stop_tokens]
    done = model.generate_together(
        each, [] if prompt_caches is None else [
            sequence_of(cache, f"prompt_caches[{place}]", model) for place, cache in enumerate(prompt_caches)],
        [{**shared, "max_tokens": limit} for limit in limits], completion_batch_size, return_prompt_caches,
        _print_ended if verbose else None)
    stats = BatchStats(
        done["prompt_tokens"], done["prompt_tokens"] / max(done["prompt_seconds"], 1e-9), done["prompt_seconds"],
        done["generation_tokens"], done["generation_tokens"] / max(done["generation_seconds"], 1e-9),
        done["generation_seconds"], _pippin._peak_memory() / _GIGABYTE)
    if verbose:
        print(f"\n[batch_generate] Prompt: {stats.prompt_tokens} tokens, {stats.prompt_tps:.3f} tokens-per-sec\n"
              f"[batch_generate] Generation: {stats.generation_tokens} tokens, {stats.generation_tps:.3f} "
              f"tokens-per-sec\n[batch_generate] Peak memory: {stats.peak_memory:.3f} GB")
    return BatchResponse(
        [model.decode(tokens) for tokens in done["tokens"]], stats,
        [PromptCache(sequence=sequence) for sequence in done["sequences"]] if return_prompt_caches else None,
        done["tokens"] if return_token_ids else None, done["logprobs"] if return_logprobs else None)


def _print_ended(count: int, total: int) -> None:
    print(f"[batch_generate] Finished processing {count}/{total} ...", end="\r")
