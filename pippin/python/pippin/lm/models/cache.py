"""The cache of a conversation, from which a model can continue."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from ..._errors import InvalidArgumentError, InvalidFileError, UnsupportedError
from ..._pippin import LanguageModel, Sequence

__all__ = [
    "PromptCache", "can_trim_prompt_cache", "load_prompt_cache", "make_prompt_cache", "save_prompt_cache",
    "trim_prompt_cache",
]


class PromptCache:
    """The tokens that a model has read, with its cache for them. copy.deepcopy() makes an independent
    copy.

    >>> from pippin import lm
    >>> model, tokenizer = lm.load("demo")
    >>> cache = lm.make_prompt_cache(model)
    >>> text = lm.generate(model, tokenizer, "Once upon a time", max_tokens=4, prompt_cache=cache)
    >>> tokenizer.decode(cache.tokens, skip_special_tokens=True).startswith("Once upon a time")
    True
    """

    def __init__(self, model: LanguageModel | None = None, *, file: str = "",
                 sequence: Sequence | None = None) -> None:
        self._file = file
        self._sequence = sequence
        if model is not None:
            self.sequence(model)

    def sequence(self, model: LanguageModel | None = None) -> Sequence:
        """The model's sequence. A cache from a file is read once the model is known."""
        if self._sequence is None:
            if model is None:
                raise InvalidArgumentError(
                    f"{self._file}: is read when a text goes on from it; load_prompt_cache(file, model) reads it now")
            sequence = model.new_sequence()
            if self._file:
                sequence.restore(self._file)
            self._sequence = sequence
        return self._sequence

    @property
    def offset(self) -> int:
        """The number of tokens."""
        return self.sequence().position

    @property
    def tokens(self) -> list[int]:
        """The tokens."""
        return self.sequence().tokens

    def is_trimmable(self) -> bool:
        """Whether trim() can drop a token."""
        sequence = self.sequence()
        return sequence.position == 0 or sequence.earliest < sequence.position

    def trim(self, num_tokens: int) -> int:
        """Drops up to the given number of last tokens; returns how many were dropped."""
        sequence = self.sequence()
        count = min(int(num_tokens), sequence.position)
        if count <= 0 or not self.is_trimmable():
            return 0
        if count == sequence.position:
            sequence.reset()
        else:
            sequence.truncate(sequence.position - count)
        return count

    def __deepcopy__(self, memo: dict[int, Any]) -> PromptCache:
        if self._sequence is None:
            return PromptCache(file=self._file)
        return PromptCache(sequence=self._sequence.fork())


def make_prompt_cache(model: LanguageModel, max_kv_size: int | None = None) -> PromptCache:
    """An empty cache. Its size is the model's context: load(..., context=N).

    >>> from pippin import lm
    >>> model, tokenizer = lm.load("demo")
    >>> lm.make_prompt_cache(model).offset
    0
    """
    check_kv_size(model, max_kv_size)
    return PromptCache(model)


def sequence_of(cache: Any, name: str, model: LanguageModel) -> Sequence:
    """The cache in an argument of that name."""
    if not isinstance(cache, PromptCache):
        raise TypeError(f"{name}: a {type(cache).__name__} is not a PromptCache")
    return cache.sequence(model)


def check_kv_size(model: LanguageModel, max_kv_size: int | None) -> None:
    if max_kv_size is not None and max_kv_size < model.context:
        raise UnsupportedError(
            f"max_kv_size: caches hold the model's context, {model.context} tokens; load() takes another context")


def _metadata_file(file_name: str | os.PathLike[str]) -> str:
    return os.fspath(file_name) + ".json"


def save_prompt_cache(file_name: str | os.PathLike[str], cache: PromptCache,
                      metadata: Mapping[str, str] | None = None) -> None:
    """Writes the cache to a file. Metadata is written next to it, to FILE.json. Raises
    UnsupportedError if the model's sequences cannot be saved, InputOutputError.

    >>> from pippin import lm
    >>> model, tokenizer = lm.load("demo")
    >>> cache = lm.make_prompt_cache(model)
    >>> text = lm.generate(model, tokenizer, "Once upon a time", max_tokens=4, prompt_cache=cache)
    >>> lm.save_prompt_cache("story.cache", cache, {"title": "A story"})
    >>> again, metadata = lm.load_prompt_cache("story.cache", model, return_metadata=True)
    >>> again.tokens == cache.tokens, metadata
    (True, {'title': 'A story'})
    """
    beside = _metadata_file(file_name)
    text = json.dumps({str(key): str(value) for key, value in (metadata or {}).items()})
    cache.sequence().save(os.fspath(file_name))
    if not metadata:
        if os.path.exists(beside):
            os.remove(beside)
        return
    with open(beside + ".part", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(beside + ".part", beside)


def load_prompt_cache(file_name: str | os.PathLike[str], model: LanguageModel | bool | None = None,
                      return_metadata: bool = False) -> Any:
    """Loads a file of save_prompt_cache(), for the model that made it: read at once if the model is
    given, else when a text continues it. With return_metadata returns a pair. Raises FileNotFoundError,
    InvalidFileError for a damaged file, and InvalidArgumentError for a file of another model.

    >>> from pippin import lm
    >>> lm.load_prompt_cache("/none.cache")
    Traceback (most recent call last):
    FileNotFoundError: /none.cache: there is no such file
    """
    if isinstance(model, bool):  # mlx-lm's second argument
        return_metadata, model = model, None
    name = os.fspath(file_name)
    if not os.path.isfile(name):
        raise FileNotFoundError(f"{name}: there is no such file")
    cache = PromptCache(model, file=name)
    return (cache, _read_metadata(name)) if return_metadata else cache


def _read_metadata(name: str) -> dict[str, str]:
    try:
        with open(_metadata_file(name), encoding="utf-8") as file:
            metadata = json.load(file)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise InvalidFileError(f"{_metadata_file(name)}: {error}") from None
    if not isinstance(metadata, dict):
        raise InvalidFileError(f"{_metadata_file(name)}: is not an object of texts")
    return metadata


def can_trim_prompt_cache(cache: PromptCache) -> bool:
    """Whether trim_prompt_cache() can drop a token.

    >>> from pippin import lm
    >>> lm.can_trim_prompt_cache(lm.make_prompt_cache(lm.load("demo")[0]))
    True
    """
    return cache.is_trimmable()


def trim_prompt_cache(cache: PromptCache, num_tokens: int) -> int:
    """Drops the last tokens, if that is possible; returns how many.

    >>> from pippin import lm
    >>> model, tokenizer = lm.load("demo")
    >>> cache = lm.make_prompt_cache(model)
    >>> text = lm.generate(model, tokenizer, "Once upon a time", max_tokens=4, prompt_cache=cache)
    >>> lm.trim_prompt_cache(cache, 2)
    2
    """
    return cache.trim(num_tokens)
