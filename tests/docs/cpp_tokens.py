"""The text of a C or C++ header as tokens (comments, preprocessor directives, words and signs), and parts of lists of
tokens."""

import re
from typing import NamedTuple

PATTERN = re.compile(
    r"(?P<directive>^[ \t]*#(?:[^\n\\]|\\\n|\\.)*)"
    r"|(?P<comment>//[^\n]*|/\*.*?\*/)"
    r'|(?P<string>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')'
    r"|(?P<word>[A-Za-z_]\w*|0[xX][0-9a-fA-F.pP+'-]+|\d[\w.']*(?:(?<=[eE])[+-]\d\w*)?)"
    r"|(?P<sign>::|->|\.\.\.|[^\s\w])",
    re.M | re.S)


class Token(NamedTuple):
    kind: str  # directive, comment, string, word, sign
    text: str
    line: int
    column: int
    is_first: bool  # on its line


def tokens_of(text):
    """The tokens of a header's text, in order; `line` counts from 1."""
    tokens = []
    for found in PATTERN.finditer(text):
        start = text.rfind("\n", 0, found.start()) + 1
        tokens.append(Token(found.lastgroup, found.group(), text.count("\n", 0, found.start()) + 1,
                            found.start() - start, not text[start:found.start()].strip()))
    return tokens


def joined(tokens):
    """Tokens as clang-format would write them on one line, roughly."""
    text = " ".join(token.text for token in tokens)
    for pattern, to in ((r" ?:: ?", "::"), (r" ([,;)\]>])", r"\1"), (r"([(\[<~]) ", r"\1"), (r" ([(\[<])", r"\1"),
                        (r" ?([*&]+)", r"\1"), (r" \.\.\.", "..."), (r",(?=\S)", ", "), (r" ?-> ?", " -> "),
                        (r"(?<=\w)([*&]+)(?=\w)", r"\1 "), (r"(?<=>)(?=\w)", " "), (r" ?\. ?", "."),
                        (r"\{ ", "{"), (r" \}", "}"), (r"- (?=[\w(])", "-")):
        text = re.sub(pattern, to, text)
    return text


def split_at_commas(tokens):
    """Parts of a list between commas outside brackets."""
    parts, depth = [[]], 0
    for token in tokens:
        if token.text in "([{<":
            depth += 1
        elif token.text in ")]}>":
            depth -= 1
        if token.text == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def up_to(tokens, text):
    """The tokens before the first one with this text outside brackets, or all of them; angle brackets are brackets."""
    depth = 0
    for i, token in enumerate(tokens):
        if token.text == text and depth == 0:
            return tokens[:i]
        depth += (token.text in "([{<") - (token.text in ")]}>")
    return tokens


def call_at(tokens):
    """The index of the first round bracket outside angle brackets, or None."""
    depth = 0
    for i, token in enumerate(tokens):
        if token.text == "(" and depth == 0:
            return i
        depth += (token.text == "<") - (token.text == ">")
    return None


def closing(tokens, i):
    """The index of the bracket that closes the one at index i."""
    pairs = {"(": ")", "{": "}", "[": "]", "<": ">"}
    opening, depth = tokens[i].text, 0
    for j in range(i, len(tokens)):
        depth += (tokens[j].text == opening) - (tokens[j].text == pairs[opening])
        if depth == 0:
            return j
    raise SyntaxError(f"line {tokens[i].line}: no {pairs[opening]}")


def parameter_form(tokens):
    """"size_t count = 3" as "count = 3"."""
    declared = up_to(tokens, "=")
    default = joined(tokens[len(declared) + 1:])
    texts = [token.text for token in declared]
    if "(" in texts and "*" in texts:  # a pointer to a function
        name = declared[texts.index("*") + 1].text
    elif len(declared) > 1 and declared[-1].kind == "word" and texts[-2] != "::" and texts[-1] != "const":
        name = texts[-1]
    elif len(declared) > 3 and texts[-1] == "]":
        name = declared[-3].text
    else:
        name = joined(declared)
    default = {"std::nullopt": "none", "{}": "", "nullptr": "null"}.get(default, default)
    default = default if len(default) <= 20 else "..."
    return name + (f" = {default}" if default else "")
