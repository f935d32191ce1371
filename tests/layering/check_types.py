#!/usr/bin/env python3
"""Finds classes, structs, unions and enums that are defined twice under one name.

    check_types.py ROOT          the tree at ROOT
    check_types.py --self-test   checks that the check can fail

Two types of one name in one namespace are undefined behaviour if both are linked into one program, and neither
compiler nor linker has to report it: the linker keeps one of two destructors with the same symbol. Types that only
one file uses belong in an unnamed namespace. One line per fault; the status is 1 if there is any.
"""

import re
import sys
import tempfile
from collections import namedtuple
from pathlib import Path

FOLDERS = ["pippin", "tests", "fuzz", "benchmarks", "examples"]
SUFFIXES = {".h", ".cpp"}

# Text without meaning here comes first, so that braces in it do not count. A directive ends with its last continued
# line; a number may contain ' between its digits.
TOKEN = re.compile(
    r"""
    (?P<directive>^[ \t]*\#(?:\\\r?\n|[^\n])*)
  | (?P<comment>//(?:\\\r?\n|[^\n])*|/\*.*?\*/)
  | (?P<text>\b(?:u8|[uUL])?R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<number>\b[0-9](?:'?[\w.])*)
  | (?P<word>[A-Za-z_]\w*|::|->|[^\w\s])
    """,
    re.MULTILINE | re.DOTALL | re.VERBOSE,
)
CONDITION = re.compile(r"\s*#\s*(if|ifdef|ifndef|else|elif|endif)\b")
KINDS = {"class", "struct", "union", "enum"}
OPAQUE = None  # a scope whose types other files cannot name: a function, an unnamed namespace, an initializer

Definition = namedtuple("Definition", "name line branches")


def closing(tokens, start, opening, end):
    """The index after the bracket that closes the one at `start`."""
    depth = 0
    for i in range(start, len(tokens)):
        depth += {opening: 1, end: -1}.get(tokens[i], 0)
        if depth == 0:
            return i + 1
    return len(tokens)


def type_name(head):
    """The name of the type whose body begins after the tokens `head`, or None."""
    i = 0
    while i < len(head) and head[i] not in KINDS:
        if head[i] == "template" and i + 1 < len(head) and head[i + 1] == "<":
            i = closing(head, i + 1, "<", ">")
        else:
            i = closing(head, i, "(", ")") if head[i] == "(" else i + 1
    if i == len(head):
        return None
    i += 1
    name = ""
    while i < len(head):
        token = head[i]
        if token in KINDS:  # enum class
            i += 1
        elif token == "[":  # an attribute
            i = closing(head, i, "[", "]")
        elif token == "(" and not name:
            i = closing(head, i, "(", ")")
        elif token in ("alignas", "__attribute__", "__declspec"):
            i += 1
        elif token == "<" and name:  # a specialization
            end = closing(head, i, "<", ">")
            name += " ".join(head[i:end])
            i = end
        elif token == "::":
            name += token
            i += 1
        elif token in ("final", ":"):
            break
        elif re.match(r"[A-Za-z_]", token) and (not name or name.endswith("::") or name.isupper()):
            name = name + token if name.endswith("::") else token  # the word before was a macro
            i += 1
        else:
            return None  # a function or a variable
    return name or None


def scope_of(head):
    """The scope that the brace after the tokens `head` opens: the names of a namespace or of a type, or OPAQUE; and
    whether it is a type."""
    while len(head) > 1 and head[0] in ("public", "private", "protected") and head[1] == ":":
        head = head[2:]
    words = [token for token in head if token != "inline"]
    if words[:1] == ["namespace"]:
        return [token for token in words[1:] if re.match(r"[A-Za-z_]", token)] or OPAQUE, False
    if words == ["extern", '""']:
        return [], False
    name = type_name(head)
    return (OPAQUE, False) if name is None else ([name], True)


def definitions(text):
    """Types with names that other files can use, outermost first. `branches` lists the branches of preprocessor
    conditions that contain a definition."""
    found = []
    scopes = []  # lists of names, or OPAQUE
    head = []
    conditions = []  # [number, branch, scopes and head where it began]
    count = 0
    for match in TOKEN.finditer(text):
        if match.lastgroup == "directive":
            condition = CONDITION.match(match.group())
            word = condition.group(1) if condition else ""
            if word.startswith("if"):
                count += 1
                conditions.append([count, 0, list(scopes), list(head)])
            elif word in ("else", "elif") and conditions:
                # Each branch is parsed separately: `#if A  struct X : A {  #else  struct X {  #endif`.
                conditions[-1][1] += 1
                scopes, head = list(conditions[-1][2]), list(conditions[-1][3])
            elif word == "endif" and conditions:
                conditions.pop()
            continue
        if match.lastgroup in ("comment", "number"):
            continue
        token = '""' if match.lastgroup == "text" else match.group()
        if token == "{":
            names, is_type = scope_of(head)
            if is_type and OPAQUE not in scopes:
                name = "::".join([part for scope in scopes for part in scope] + names)
                line = text.count("\n", 0, match.start()) + 1
                found.append(Definition(name, line, {number: branch for number, branch, *_ in conditions}))
            scopes.append(names)
            head = []
        elif token == "}":
            if not scopes:
                raise ValueError(f"line {text.count(chr(10), 0, match.start()) + 1}: a brace closes nothing")
            scopes.pop()
            head = []
        elif token == ";":
            head = []
        else:
            head.append(token)
    if scopes:
        raise ValueError("braces that are not closed")
    return found


def exclusive(a, b):
    """Whether two definitions of one file are in different branches of one condition."""
    return any(b.branches.get(number, branch) != branch for number, branch in a.branches.items())


def check(root):
    faults = []
    first = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SUFFIXES:
                continue
            place = path.relative_to(root)
            try:
                types = definitions(path.read_text(encoding="utf-8"))
            except ValueError as error:  # text that this reader does not understand would hide the rest
                faults.append(f"{place}: {error}")
                continue
            for found in types:
                other_place, other = first.setdefault(found.name, (place, found))
                if other is found or (other_place == place and exclusive(other, found)):
                    continue
                faults.append(f"{place}:{found.line}: {found.name} is defined in {other_place}:{other.line} too")
    return faults


def self_test():
    pair = "namespace pippin::engine {\n%s\n}\n"
    cases = [  # the contents of two files, and the expected fault or None
        (pair % "struct Product {};", pair % "struct Product { double number; };", "pippin::engine::Product is defined in"),
        (pair % "struct A {};", "namespace pippin {\nnamespace engine { class A final : B<int> {}; }\n}", "A is defined in"),
        (pair % "enum class A : int { X };", pair % "enum class A { X };", "pippin::engine::A is defined in"),
        (pair % "union A { int x; };", pair % "struct alignas(64) [[nodiscard]] A { int x; };", "pippin::engine::A is defined in"),
        (pair % "template <class T, int N = (1 > 0)>\nstruct A {};", pair % "template <class T> class A {};", "A is defined in"),
        (pair % "template <> struct A<B> {};", pair % "template <> struct A<B> {};", "A< B > is defined in"),
        (pair % "struct A { struct B {}; };", pair % "struct A::B {};", "pippin::engine::A::B is defined in"),
        (pair % "class A {\n public:\n  struct B {};\n};", pair % "struct A::B {};", "A::B is defined in"),
        (pair % "#define X {\nstruct A {};", pair % "MACRO(x)\nstruct EXPORT A {};", "pippin::engine::A is defined in"),
        ('extern "C" { struct A {}; }', 'auto x = R"x({")x"; int y = 1\'000; char z = \'{\'; struct A {};', "A is defined in"),
        (pair % "#if X\nstruct A : X {\n#else\nstruct A {\n#endif\n};\nstruct B {};", pair % "struct B {};", "B is defined in"),
        (pair % "void f() {}\n// {\n/* { */ struct A {};", pair % "struct A {};", "pippin::engine::A is defined in"),
        (pair % "struct A { A() : x{1}, y{2} {} int x{0}, y; };\nstruct B {};", pair % "struct B {};", "B is defined in"),
        (pair % "struct A {};\nstruct A {};", "", "pippin::engine::A is defined in"),
        (pair % "#if X\nstruct A {};\n#endif\nstruct A {};", "", "pippin::engine::A is defined in"),
        ("struct A {", "", "braces that are not closed"),
        ("", "}", "closes nothing"),
        # Valid cases.
        (pair % "struct A {};", "namespace pippin::mil { struct A {}; }", None),
        (pair % "struct A {};", pair % "struct A; class B { friend struct A; }; enum class C : int;", None),
        (pair % "namespace { struct A {}; }", pair % "namespace { struct A {}; }", None),
        (pair % "namespace { namespace n { struct A {}; } }", pair % "namespace n { struct A {}; }", None),
        (pair % "struct A { struct Impl {}; };", pair % "struct B { struct Impl {}; };", None),
        (pair % "void f() { struct A {}; }", pair % "void g() { struct A {}; }", None),
        (pair % "auto f = [] { struct A {}; };", pair % "struct A {};", None),
        (pair % "template <> struct A<B> {};", pair % "template <> struct A<C> {};", None),
        (pair % "#if X\nstruct A {};\n#elif Y\nstruct A {};\n#else\nstruct A {};\n#endif", "", None),
        (pair % "struct A f(struct B b) { return {}; }", pair % "struct A {}; struct B {};", None),
        (pair % "struct A {};", pair % "struct A x = {}; const struct A* f() {}", None),
        (pair % "struct A {};", pair % "#define X struct A { \\\n};\n// struct A {};\nauto x = \"struct A {};\";", None),
    ]
    wrong = 0
    for one, two, expected in cases:
        with tempfile.TemporaryDirectory() as root:
            for name, text in (("a.h", one), ("b.cpp", two)):
                path = Path(root) / "pippin" / "engine" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            found = "; ".join(check(Path(root)))
        if (expected or "") not in found or (expected is None and found):
            print(f"{one}\n{two}\nexpected {expected}, found {found or None}\n")
            wrong += 1
    return wrong


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    if sys.argv[1] == "--self-test":
        return 1 if self_test() else 0
    faults = check(Path(sys.argv[1]))
    print("\n".join(faults) if faults else "no type is defined twice")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
