"""Tables of the reference: a form, a description and the errors, each on one line of Markdown."""

import re
import textwrap

# Sentences about errors that are thrown, raised or returned.
ERROR = re.compile(
    r"\b[Tt]hrows\b|^Throw\b|\bthrow the errors\b|\bRaises\b|^Errors?\b.*:|^(Before|During) (any|running|the run)\b"
    r"|^(PIPPIN_ERROR_)?(INVALID_ARGUMENT|UNSUPPORTED|NOT_FOUND|INVALID_FILE|LIMIT_EXCEEDED)\b")
SENTENCE = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!et al\.)\s+(?=[A-Z`\"(])")


def description(text):
    """The paragraphs of a comment without its code and drawings, each on one line."""
    kept = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = paragraph.split("\n")
        code = next((i for i, line in enumerate(lines) if re.match(r"\s{2,}\S|\s*>>>", line)), len(lines))
        plain = " ".join(line.strip() for line in lines[:code]).strip()
        if plain:
            kept.append(plain)
    return kept


def cell(text):
    """Text as Markdown that fits into a table: one line, with signs of Markdown escaped outside of code."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(part.replace("|", r"\|") if part.startswith("`") and len(part) > 1 else
                   re.sub(r"([|<]|(?<=\S)\*|\*(?=\S)|\](?=\())", r"\\\1", part) for part in parts)


def wrapped(text):
    """A paragraph as lines of at most 120 characters."""
    return "\n".join(textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False))


def form_cell(forms):
    return "<br>".join(f"`{form}`".replace("|", r"\|") for form in forms)


def split_errors(text):
    """(description, errors) of a comment."""
    plain, errors = [], []
    for paragraph in description(text):
        for sentence in SENTENCE.split(paragraph):
            (errors if ERROR.search(sentence) else plain).append(sentence)
    return as_sentence(" ".join(plain)), as_sentence(" ".join(errors))


def as_sentence(text):
    """A remark after a declaration as a sentence: "bytes of an element" as "Bytes of an element."."""
    is_word = re.match(r"(a (?=[a-z])|[a-z]{2,}([ ,;.]|: |$))", text)
    text = (text[:1].upper() + text[1:] if is_word else text).rstrip(":")
    return f"{text}." if re.search(r"[\w)\]`\"]$", text) else text


def table(name, rows):
    """A table of (forms, comment)."""
    lines = [f"| {name} | | errors |", "|---|---|---|"]
    for forms, text in rows:
        plain, errors = split_errors(text)
        lines.append(f"| {form_cell(forms)} | {cell(plain)} | {cell(errors)} |")
    return "\n".join(lines)
