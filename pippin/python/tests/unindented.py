"""Restores programs in a text that lost its indentation, between lines of prose.

Python's grammar decides what a statement is and where it ends. Rules that hold for simple code decide where blocks end:
classes and functions end where the next one begins; the block of an `if` with an `else` ends there; that of an `else`
ends with the assignment of the name that the `if` tested, or goes on while it sets the names of the other branch;
other blocks have one statement, and those that use names set only in the block; a `break` is in the loop before it."""

import ast
import re


class Line:
    """A statement, or the head of a block."""

    def __init__(self, text):
        self.text = text
        self.is_head = text.endswith(":")
        self.word = re.match(r"\w*", text)[0]
        tree = ast.parse("if x: pass\nelse: pass" if text == "else:" else text + " pass" if self.is_head else text)
        names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
        self.sets = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
        self.uses = {node.id for node in names if not isinstance(node.ctx, ast.Store)}
        function = tree.body[0] if isinstance(tree.body[0], ast.FunctionDef) else None
        self.parameters = {one.arg for one in function.args.args} if function else set()


def _statements(text):
    """Lists of lines of code, each between lines of prose."""
    found, parts = [[]], ""
    for row in text.splitlines():
        if not parts and (not row.strip() or row.startswith("#")):
            continue
        parts += ("\n" if parts else "") + row.strip()
        try:
            found[-1].append(Line(parts))
            parts = ""
        except SyntaxError as error:
            if "was never closed" in str(error) and len(parts) < 1000:
                continue
            parts = ""
            if found[-1]:
                found.append([])
    return [one for one in found if one]


def _following(lines, start, names, known, follow):
    """The end of the statements from `start` that use `names`, and (`follow`) names that those set for the first
    time."""
    names = set(names)
    end = start
    for i in range(start, len(lines)):
        if lines[i].word in ("def", "class"):
            break
        if lines[i].uses & names:
            end = i + 1
        if follow and i < max(end, start + 1):
            names |= lines[i].sets - known
    return end


def _block_end(lines, head, known):
    """The end of the block whose head is lines[head]."""
    line = lines[head]
    rest = range(head + 1, len(lines))
    limit = next((i for i in rest if lines[i].word in ("def", "class")), len(lines))
    if line.word == "while":
        return limit
    if line.word == "for":
        other = next((i for i in range(head + 1, limit) if lines[i].word in ("for", "while")), limit)
        breaks = [i + 1 for i in range(head + 1, other) if lines[i].text == "break"]
        return max(head + 2, _following(lines, head + 1, line.sets, known, follow=True), *breaks)
    if line.word == "with":
        return head + 2
    if line.word == "if":
        next_head = next((i for i in rest if lines[i].is_head), None)
        if next_head is not None and lines[next_head].text == "else:":
            return next_head
        return max(head + 2, _following(lines, head + 2, lines[head + 1].sets - known, known, follow=False))
    assert line.text == "else:", line.text
    before = max(i for i in range(head) if lines[i].word == "if")
    for i in range(head + 1, limit):
        if lines[i].is_head:
            break
        if lines[i].sets & lines[before].uses:
            return i + 1
    other = set().union(*(lines[i].sets for i in range(before + 1, head)))
    return next((i for i in range(head + 2, limit) if not lines[i].sets or lines[i].sets - other), limit)


def indented(lines):
    result, ends, known, depth = [], [], set(), 0
    for i, line in enumerate(lines):
        while ends and i >= ends[-1]:
            ends.pop()
        if line.word in ("class", "def"):
            is_method = "self" in line.parameters
            ends, depth, known = [], int(is_method), set(line.parameters)
        result.append("    " * (depth + len(ends)) + line.text)
        if line.word in ("class", "def"):
            depth += 1
        elif line.is_head:
            ends.append(_block_end(lines, i, known))
        known |= line.sets
    return "\n".join(result) + "\n"


def programs(text):
    """All stretches of code in the text, in order, as programs."""
    return [indented(lines) for lines in _statements(text)]
