"""A model's tokenizer and chat template, with the interface of mlx-lm and transformers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .._errors import InvalidArgumentError, UnsupportedError
from .._pippin import ChatTemplate, LanguageModel, Tokenizer

__all__ = ["StreamingDetokenizer", "TokenizerWrapper"]

_THOUGHTS = (("<think>", "</think>"), ("<longcat_think>", "</longcat_think>"))


class StreamingDetokenizer:
    """Decodes tokens as they come.

    >>> import pippin.lm
    >>> _, tokenizer = pippin.lm.load("demo")
    >>> detokenizer = tokenizer.detokenizer
    >>> for token in tokenizer.encode("a fox", add_special_tokens=False):
    ...     detokenizer.add_token(token)
    >>> detokenizer.finalize()
    >>> detokenizer.text
    'a fox'
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.reset()

    def reset(self) -> None:
        """Forgets all tokens."""
        self._stream = self._tokenizer.stream(False)
        self.tokens: list[int] = []
        self.text = ""
        self.offset = 0

    def add_token(self, token: int) -> None:
        """Takes the next token."""
        self.tokens.append(int(token))
        self.text += self._stream.push(int(token))

    def finalize(self) -> None:
        """Completes the text; call reset() before the next one."""
        self.text += self._stream.finish()

    @property
    def last_segment(self) -> str:
        """The text added since the last read."""
        segment = self.text[self.offset:]
        self.offset = len(self.text)
        return segment


class TokenizerWrapper:
    """A model's tokenizer and chat template. `eos_token_ids` is the set of tokens that end texts; it may be
    changed.

    >>> from pippin import lm
    >>> model, tokenizer = lm.load("demo")
    >>> tokenizer.decode(tokenizer.encode("Once upon a time", add_special_tokens=False))
    'Once upon a time'
    """

    def __init__(self, model: LanguageModel, *, eos_tokens: Iterable[str | int] = (),
                 chat_template: str | None = None) -> None:
        self.tokenizer: Tokenizer = model.tokenizer
        self._model = model
        self._template: ChatTemplate | None = None
        self._given_template = chat_template
        self._end_tokens = list(model.end_tokens)
        self.eos_token_ids: set[int] = set(self._end_tokens)
        for token in eos_tokens:
            self.add_eos_token(token)

    # --- texts and tokens ---

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        """The tokens of a text."""
        return self.tokenizer.encode(text, add_special_tokens)

    def decode(self, tokens: int | Iterable[int], skip_special_tokens: bool = False) -> str:
        """The text of a token, or of several."""
        return self.tokenizer.decode(as_tokens([tokens] if isinstance(tokens, int) else tokens), skip_special_tokens)

    def batch_decode(self, sequences: Iterable[Iterable[int]], skip_special_tokens: bool = False) -> list[str]:
        """The texts of lists of tokens."""
        return [self.decode(tokens, skip_special_tokens) for tokens in sequences]

    def tokenize(self, text: str) -> list[str]:
        """The tokens of a text, as the vocabulary spells them."""
        return [self.tokenizer.id_to_token(id) or "" for id in self.encode(text, False)]

    def __call__(self, text: str | Sequence[str], add_special_tokens: bool = True) -> dict[str, Any]:
        """{"input_ids", "attention_mask"} of a text, or of several texts."""
        if isinstance(text, str):
            return _inputs(self.encode(text, add_special_tokens))
        each = [_inputs(self.encode(one, add_special_tokens)) for one in text]
        return {name: [one[name] for one in each] for name in ("input_ids", "attention_mask")}

    @property
    def detokenizer(self) -> StreamingDetokenizer:
        """A new detokenizer."""
        return StreamingDetokenizer(self.tokenizer)

    # --- the vocabulary ---

    @property
    def vocab_size(self) -> int:
        """The size of the vocabulary."""
        return self.tokenizer.vocab_size

    def __len__(self) -> int:
        return self.tokenizer.vocab_size

    @property
    def vocab(self) -> dict[str, int]:
        """The tokens with their ids."""
        return self.tokenizer.get_vocab()

    def get_vocab(self) -> dict[str, int]:
        """The tokens with their ids."""
        return self.tokenizer.get_vocab()

    def convert_tokens_to_ids(self, tokens: str | Iterable[str]) -> Any:
        """The id of a token, or None."""
        if isinstance(tokens, str):
            return self.tokenizer.token_to_id(tokens)
        return [self.tokenizer.token_to_id(token) for token in tokens]

    def convert_ids_to_tokens(self, ids: int | Iterable[int]) -> Any:
        """The tokens as the vocabulary spells them."""
        if isinstance(ids, int):
            return self.tokenizer.id_to_token(ids)
        return [self.tokenizer.id_to_token(int(id)) for id in ids]

    @property
    def all_special_ids(self) -> list[int]:
        """The ids of the special tokens."""
        return sorted(self.tokenizer.special_tokens.values())

    @property
    def all_special_tokens(self) -> list[str]:
        """The special tokens, by id."""
        return sorted(self.tokenizer.special_tokens, key=self.tokenizer.special_tokens.__getitem__)

    @property
    def bos_token(self) -> str | None:
        """The token that begins a text: from the model's files, else the first token of encode("")."""
        named = self._special("bos_token")
        if named is not None:
            return named
        first = self.tokenizer.encode("")[:1]
        return self.tokenizer.id_to_token(first[0]) if first else None

    @property
    def bos_token_id(self) -> int | None:
        """The id of bos_token."""
        return _id_of(self.tokenizer, self.bos_token)

    @property
    def eos_token(self) -> str | None:
        """The token that ends a text: from the model's files, else the first of the end tokens."""
        named = self._special("eos_token")
        if named is not None or not self._end_tokens:
            return named
        return self.tokenizer.id_to_token(self._end_tokens[0])

    @property
    def eos_token_id(self) -> int | None:
        """The id of eos_token."""
        return _id_of(self.tokenizer, self.eos_token)

    def add_eos_token(self, token: str | int) -> None:
        """Adds a token that ends texts: its text or its id."""
        id = self.tokenizer.token_to_id(token) if isinstance(token, str) else int(token)
        if id is None and str(token).isdigit():
            id = int(token)
        if id is None or self.tokenizer.id_to_token(id) is None:
            raise InvalidArgumentError(f"{token!r} is not a token of this tokenizer")
        self.eos_token_ids = {*self.eos_token_ids, id}

    # --- conversations ---

    @property
    def has_chat_template(self) -> bool:
        """Whether there is a chat template."""
        return self._given_template is not None or self._model.has_chat_template

    @property
    def chat_template(self) -> str | None:
        """The template's text; can be set."""
        return self.template().source if self.has_chat_template else None

    @chat_template.setter
    def chat_template(self, source: str | None) -> None:
        self._given_template = source
        self._template = None

    def apply_chat_template(
        self, conversation: Sequence[Any], tools: Sequence[Mapping[str, Any]] | None = None,
        documents: Sequence[Mapping[str, str]] | None = None, chat_template: str | None = None,
        add_generation_prompt: bool = False, continue_final_message: bool = False, tokenize: bool = True,
        return_dict: bool = False, **variables: Any,
    ) -> Any:
        """The tokens of a conversation, a list of {"role", "content"}, or of a list of conversations; with
        tokenize=False their texts. add_generation_prompt=True adds the beginning of an answer. Other keywords are
        variables of the template (enable_thinking=False). Raises InvalidArgumentError without a chat template, and if
        the template rejects the conversation; UnsupportedError for padding, truncation and return_tensors."""
        for name in ("padding", "truncation", "max_length", "return_tensors", "return_assistant_tokens_mask"):
            if variables.pop(name, None):
                raise UnsupportedError(f"apply_chat_template: {name} is not taken; lists of tokens come back")
        template = self.template() if chat_template is None else self._template_of(chat_template)
        is_one = not conversation or isinstance(conversation[0], Mapping)
        results = []
        for messages in [conversation] if is_one else conversation:
            text = template.render(
                list(messages), tools=None if tools is None else list(tools), documents=documents,
                add_generation_prompt=add_generation_prompt, continue_final_message=continue_final_message,
                **variables)
            # The template itself writes the special tokens.
            tokens = self.encode(text, add_special_tokens=False) if tokenize else text
            results.append(_inputs(tokens) if return_dict and tokenize else tokens)
        return results[0] if is_one else results

    def read_answer(self, answer: str, messages: Sequence[Mapping[str, Any]],
                    tools: Sequence[Mapping[str, Any]] | None = None, **variables: Any) -> dict[str, Any]:
        """The parts of an answer: content, reasoning_content and tool_calls (id, name, arguments)."""
        return self.template().read_answer(answer, list(messages), tools=tools, **variables)

    @property
    def has_thinking(self) -> bool:
        """Whether there are tokens around thoughts."""
        return self.think_start is not None

    @property
    def think_start(self) -> str | None:
        """The token that begins thoughts, or None."""
        return self._thoughts()[0]

    @property
    def think_end(self) -> str | None:
        """The token that ends thoughts, or None."""
        return self._thoughts()[1]

    def _thoughts(self) -> tuple[str | None, str | None]:
        for start, end in _THOUGHTS:
            if None not in (self.tokenizer.token_to_id(start), self.tokenizer.token_to_id(end)):
                return start, end
        return None, None

    def _special(self, name: str) -> str | None:
        if not self.has_chat_template:
            return None
        return self._model_template().special_tokens.get(name)

    def _model_template(self) -> ChatTemplate:
        template = self._model.chat_template
        if template is None:
            return ChatTemplate.from_source("")
        return template

    def _template_of(self, source: str) -> ChatTemplate:
        special = self._model_template().special_tokens
        special.setdefault("bos_token", self.bos_token or "")
        special.setdefault("eos_token", self.eos_token or "")
        return ChatTemplate.from_source(source, special)

    def template(self) -> ChatTemplate:
        """The chat template. Raises InvalidArgumentError if there is none."""
        if self._template is None:
            if self._given_template is not None:
                self._template = self._template_of(self._given_template)
            elif not self._model.has_chat_template:
                raise InvalidArgumentError("the model has no chat template")
            else:
                self._template = self._model_template()
        return self._template


def as_tokens(tokens: Any) -> list[int]:
    """Ids from a list, a one-dimensional array of any kind, or any iterable of numbers."""
    if hasattr(tokens, "tolist"):
        tokens = tokens.tolist()
    try:
        return [_as_token(token) for token in tokens]
    except TypeError as error:
        raise TypeError(f"tokens: {error}") from None


def _as_token(token: Any) -> int:
    if isinstance(token, float) or not hasattr(token, "__index__"):
        raise TypeError(f"a {type(token).__name__} is not a token, a whole number")
    return int(token.__index__())


def _inputs(tokens: Any) -> dict[str, Any]:
    return {"input_ids": tokens, "attention_mask": [1] * len(tokens)}


def _id_of(tokenizer: Tokenizer, token: str | None) -> int | None:
    return None if token is None else tokenizer.token_to_id(token)
