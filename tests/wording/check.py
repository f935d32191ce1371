#!/usr/bin/env python3
"""Finds wording that CONTRIBUTING.md asks to avoid, in comments, messages and documents.

    check.py            every tracked file: the number of places by rule
    check.py BASE       lines added since the commit BASE, and the subjects of commits since then; since the commit that
                        added this check, if BASE is older. The status is 1 if a subject is longer than 72 characters,
                        or if more places were added than removed
    check.py --self-test   that the check can fail

The rules find candidates: some of them read well, so their number may stay, but not grow.
"""
import collections
import re
import subprocess
import sys

LONGEST_SUBJECT = 72
LONGEST_LINE = 120
LONG = f"a line of a document over {LONGEST_LINE} columns (outside of tables and code)"
FILES = re.compile(r"\.(h|cpp|mm|cu|cuh|inc|py|mjs|js|md|sh|cmake)$")
# The rules and their own examples.
EXEMPT = "tests/wording/"
# Comments and strings of code; of a document, everything.
TEXT = re.compile(r'///?.*|#.*|"[^"]{12,}"|^\s*\*.*|^\s*""".*')

RULES = {
    "a header or comment begins with a question word": r"^\s*(///?|\"\"\"|#)\s*(What|How|Whoever|Who)\b(?!.*\?)",
    "is no NOUN (is not a, has no)":
        r"(?<![Tt]here )\b(is|are|was|were) (no|none)\b"
        r"(?! (longer|more|different|better|worse|faster|slower|larger|smaller|need|way|such))",
    "has not NOUN (does not have, has no)":
        r"\b(has|have) not\b(?! (been|yet|changed|run|begun|loaded|started|finished|read|seen|had|\w+ed)\b)",
    "people for code (the caller, the client, the worker)":
        r"\b([Ww]hoever|[Ss]omebody|[Nn]obody|[Ww]ho (has|runs|reads|asks|waits|holds|finds|calls|wants|left|leaves))\b",
    "behind for after": r"\bbehind (\d|a prompt|the prompt|that many|[a-z]+ tokens|tokens)\b",
    "beside for next to, compared with": r"\b[Bb]eside\b(?! the point)",
    "a clause with what as subject or object":
        r"\b[Ww]hat (is|was|are|comes|follows|lies|stands|fills|belongs|remains|has|it (is|has))\b(?!.*\?)",
    "let go, turn away, to be had (unload, reject, available)":
        r"\b(let go|turn(s|ed)? away|that is one too many|to be had|as a whole at once)\b",
}
PATTERNS = {name: re.compile(rule) for name, rule in RULES.items()}


def places_of(name, line):
    """The rules that a line of this file breaks, once for each text in it."""
    document = name.endswith(".md")
    texts = [line] if document else (found.group() for found in TEXT.finditer(line))
    rules = [rule for text in texts for rule, pattern in PATTERNS.items() if pattern.search(text)]
    if document and len(line.rstrip("\n")) > LONGEST_LINE and not line.startswith(("|", "    ", "<")):
        rules.append(LONG)
    return rules


def git(*arguments):
    return subprocess.run(["git", *arguments], check=True, stdout=subprocess.PIPE, text=True, errors="replace").stdout


def is_checked(name):
    return FILES.search(name) and not name.startswith(EXEMPT)


def changed_places(diff):
    """({(file, line, text): rules} of added lines, the number of places in removed ones)."""
    added, removed, name, at = {}, 0, "", 0
    for line in diff.splitlines():
        if line.startswith("+++ "):
            name = line[6:]
        elif line.startswith("@@"):
            at = int(re.search(r"\+(\d+)", line).group(1))
        elif line.startswith("+"):
            rules = places_of(name, line[1:]) if is_checked(name) else []
            if rules:
                added[name, at, line[1:].strip()] = rules
            at += 1
        elif line.startswith("-") and not line.startswith("---") and is_checked(name):
            removed += len(places_of(name, line[1:]))
    return added, removed


def faults_of(diff, subjects):
    """One line for each fault, after the places that were added."""
    added, removed = changed_places(diff)
    lines = [f"{name}:{at}: {rule}: {text[:110]}" for (name, at, text), rules in added.items() for rule in rules]
    faults = [f"{len(subject)} characters in a subject ({LONGEST_SUBJECT} at most): {subject}"
              for subject in subjects if len(subject) > LONGEST_SUBJECT]
    print(f"{len(lines)} places added, {removed} removed")
    if len(lines) > removed:
        faults = [*lines, f"{len(lines)} places were added and {removed} removed: write some of them differently", *faults]
    return faults


def self_test():
    diff = "--- a/x.h\n+++ b/x.h\n@@ -1,1 +1,2 @@\n-{}\n+{}\n+int nobody = 0;\n"
    bad, good = "// Nobody waits.", "// No thread waits."
    assert faults_of(diff.format(good, bad), [])
    assert not faults_of(diff.format(bad, good), [])
    assert not faults_of(diff.format(bad, bad), ["s" * LONGEST_SUBJECT])
    assert faults_of("", ["s" * (LONGEST_SUBJECT + 1)])
    assert places_of("x.md", "it is no path") and places_of("x.cpp", 'fail("{} is no path");')
    assert not places_of("x.cpp", "is = no + path;")
    assert places_of("x.md", "a" * (LONGEST_LINE + 1)) and not places_of("x.md", "|" + "a" * LONGEST_LINE)


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    elif len(sys.argv) == 2 and not sys.argv[1].startswith("-"):
        base = sys.argv[1]
        for check in git("log", "--diff-filter=A", "--format=%H", "--", "tests/wording/check.py").split():
            if git("merge-base", base, check).strip() == git("rev-parse", base).strip():
                base = check
        faults = faults_of(git("diff", "--unified=0", base), git("log", "--format=%s", f"{base}..HEAD").splitlines())
        sys.exit("\n".join(faults) or 0)
    elif len(sys.argv) == 1:
        counts = collections.Counter()
        for name in filter(is_checked, git("ls-files").splitlines()):
            with open(name, encoding="utf-8", errors="replace") as file:
                counts.update(rule for line in file for rule in places_of(name, line))
        for rule, count in counts.most_common():
            print(f"{count:5} {rule}")
        print(f"{counts.total()} places")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
