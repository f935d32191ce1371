#!/usr/bin/env python3
"""Checks that the public interface is documented, and writes the tables of docs/reference from its comments.

    reference.py             status 1 and one line for each fault: a public declaration without a comment or docstring,
                             a table that differs from the headers, a name in the documents that does not exist
    reference.py --update    writes docs/reference
    reference.py --self-test that each check can fail

Public are the headers that cmake/install.cmake installs, and the names of the Python package without an underscore. The
checks need no build and no other packages."""

import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from cpp_header import read_header  # noqa: E402
from python_package import Package, bound_texts  # noqa: E402
from tables import cell, description, table, wrapped  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
INSTALLS = "cmake/install.cmake"
NOTE = "<!-- Written by tests/docs/reference.py --update from the comments of the headers and the docstrings. -->"
PAGES = {  # page: (title, introduction, the headers that it has, the namespace that it leaves out)
    "docs/reference/cpp.md": (
        "Reference: models in C++",
        "Every declaration of the public headers for models, texts and tokens; names are those in `pippin`. [The C++ "
        "interface](../cpp-api.md) explains how they work together. Errors are the codes of `pippin::Error`.",
        lambda header: not re.match(r"pippin/(c|mx)/", header), "pippin"),
    "docs/reference/arrays.md": (
        "Reference: arrays in C++",
        "Every declaration of `pippin/mx.h` and `pippin/nn.h`; names are those in `pippin::mx`. [The C++ "
        "interface](../cpp-api.md#arrays-and-modules) explains how they work together. Errors are the codes of "
        "`pippin::Error`; messages begin with the operation's name.",
        lambda header: header.startswith("pippin/mx/"), "pippin::mx"),
    "docs/reference/c.md": (
        "Reference: C",
        "Every declaration of `pippin.h`. [The C interface](../c.md) explains how they work together. Errors are the "
        "codes `PIPPIN_ERROR_...` that a function returns; every function that returns a `pippin_code` also returns "
        "INVALID_ARGUMENT for NULL in place of an argument that it needs.",
        lambda header: header.startswith("pippin/c/"), ""),
}
PYTHON_PAGE = "docs/reference/python.md"
PYTHON_INTRODUCTION = (
    "Every public class and function of the package, with the public methods of classes. [Python](../python.md) and "
    "[Arrays](../arrays.md) explain how they work together. A name is listed with the first module that has it. "
    "Functions of `pippin.core` that C++ defines raise its errors: InvalidArgument is `pippin.InvalidArgumentError`, "
    "and so on.")


def public_headers(root):
    """The headers that cmake/install.cmake installs, as paths in the repository."""
    text = re.sub(r"#[^\n]*", "", (root / INSTALLS).read_text(encoding="utf-8"))
    found = []
    for name in re.findall(r"[\w./-]+\.h\b", text):
        found.append(name if name.startswith("pippin/") else f"pippin/{name}")
    missing = [name for name in found if not (root / name).is_file()]
    if missing or not found:
        sys.exit(f"{INSTALLS}: {', '.join(missing) or 'no header'} {'does not exist' if missing else 'is installed'}")
    return list(dict.fromkeys(found))


def headers_of(root):
    """{path: (title, declarations)} of the public headers."""
    return {name: read_header((root / name).read_text(encoding="utf-8")) for name in public_headers(root)}


def package_of(root, headers):
    """The Python package. Functions of pippin.core have the comments of those of pippin::mx with the same name."""
    texts, comments = bound_texts(root / "pippin/python"), {}
    for _, declarations in headers.values():
        for one in declarations:
            if one.kind == "function" and not one.scope:
                comments.setdefault((one.namespace, one.name), one.comment)

    def bound(path):
        *modules, name = path.split(".")
        if modules[:2] == ["pippin", "_pippin"]:
            return texts.get(".".join([*modules[2:], name]), "")
        inner = [one for one in modules[2:] if one != "array"]  # methods of arrays are functions, too
        return comments.get(("::".join(["pippin::mx", *inner]), name), "") if modules[1:2] == ["core"] else ""

    return Package(root / "pippin/python/pippin", bound)


def python_names(package):
    """{module: names}, each name with the first module that has it: pippin.nn before pippin.nn.linear."""
    found, seen = {}, set()
    for module in sorted(package.modules(), key=lambda name: (name.count("."), name)):
        for name in package.names(module):
            key = (package.resolve(module, name.name), name.name)
            if str(key) not in seen:
                seen.add(str(key))
                found.setdefault(module, []).append(name)
    return dict(sorted(found.items()))


def undocumented(headers, names):
    """One line for each public name without a comment or docstring."""
    lines = [f"{header}:{one.line}: {one.kind} {one.path} has no comment"
             for header, (_, declarations) in headers.items() for one in declarations
             if one.needs_comment and not one.comment]
    for module, listed in names.items():
        lines += [f"{module}: {one.name} has no docstring" for name in listed for one in [name, *name.members]
                  if not one.text]
    return lines


def form_of(one, namespace):
    """The declaration as the tables write it, with the parts of its name after this namespace."""
    path = "::".join(part for part in (one.namespace.removeprefix(namespace).removeprefix("::"), one.scope) if part)
    if not path:
        return one.form
    if one.kind in ("type", "enum", "alias") and " " in one.form:
        return one.form.replace(" ", f" {path}::", 1)
    return f"{path}::{one.form}"


def header_rows(declarations, namespace):
    """(forms, comment) of declarations; those that share a comment share a row."""
    rows = []
    for one in declarations:
        if not one.comment:
            continue
        form, text = form_of(one, namespace), one.comment
        if one.values:
            values = ", ".join(f"`{name}`" + (f" ({said})" if said else "") for name, said in one.values)
            text += f" Values: {values}."
        if rows and rows[-1][1:] == (text, one.scope, one.kind):
            if form not in rows[-1][0]:
                rows[-1][0].append(form)
        else:
            rows.append(([form], text, one.scope, one.kind))
    return [(forms, text) for forms, text, *_ in rows]


def header_page(title, introduction, headers, namespace):
    parts = [f"# {title}", NOTE, wrapped(introduction)]
    for header, (about, declarations) in headers.items():
        if not declarations:
            continue
        parts.append(f"## {header}")
        parts += [wrapped(cell(paragraph)) for paragraph in description(about)]
        for section in dict.fromkeys(one.section for one in declarations):
            parts += [f"### {section[:1].upper()}{section[1:]}"] if section else []
            shown = [one for one in declarations if one.section == section]
            parts.append(table("declaration", header_rows(shown, namespace)))
    return "\n\n".join(parts) + "\n"


def python_page(names):
    parts = ["# Reference: Python", NOTE, wrapped(PYTHON_INTRODUCTION)]
    for module, listed in names.items():
        parts.append(f"## {module}")
        parts.append(table("name", [([one.form], one.text) for name in listed for one in [name, *name.members]]))
    return "\n\n".join(parts) + "\n"


def pages_of(headers, names):
    """{path: text} of the pages that are written."""
    pages = {PYTHON_PAGE: python_page(names)}
    for path, (title, introduction, has, namespace) in PAGES.items():
        shown = {name: value for name, value in headers.items() if has(name)}
        pages[path] = header_page(title, introduction, shown, namespace)
    return pages


def stale(root, pages):
    """One line for each page that differs from the comments."""
    lines = []
    for path, text in pages.items():
        stored = (root / path).read_text(encoding="utf-8") if (root / path).exists() else ""
        if stored != text:
            pairs = enumerate(zip(stored.split("\n"), text.split("\n")), 1)
            place = next((f" in line {number}" for number, (old, new) in pairs if old != new), "")
            lines.append(f"{path}: differs from the headers{place}; tests/docs/reference.py --update writes it")
    return lines


def known_names(headers, names):
    """(names of C, of C++, of Python) that documents may use."""
    in_c, in_cpp, in_python = set(), set(), set()
    for header, (_, declarations) in headers.items():
        for one in declarations:
            (in_c if header.startswith("pippin/c/") else in_cpp).update(
                {one.name, one.path, *(value for value, _ in one.values)})
    for module, listed in names.items():
        for name in listed:
            in_python.update({name.name, *(member.name.split(".")[-1] for member in name.members)})
    return in_c, in_cpp, in_python


def unknown_names(path, text, known, in_c, allowed):
    """One line for each function in a document's inline code, and each name of C, that does not exist."""
    lines = []
    plain = re.sub(r"```.*?```", lambda found: "\n" * found[0].count("\n"), text, flags=re.S)
    for number, line in enumerate(plain.split("\n"), 1):
        for span in re.findall(r"`([^`]+)`", line):
            found = re.match(r"(?:\w+(?:::|\.))*(\w+)\(", span)
            is_end = found and found[1].startswith("_") and any(name.endswith(found[1]) for name in in_c)
            if found and not is_end and found[1] not in known | in_c | allowed:
                lines.append(f"{path}:{number}: {found[1]}() is not a public function")
    for name in sorted(set(re.findall(r"\b(?:pippin_\w+|PIPPIN_[A-Z]\w+)\b(?=[(,;)` ])", text))):
        if path.endswith("c.md") and name not in in_c | allowed:
            lines.append(f"{path}: {name} is not in pippin.h")
    return lines


DOCUMENTS = {  # document: names that its text uses and that are not of the interface
    "docs/cpp-api.md": {"find_package"},
    "docs/c.md": {"pippin_T_free", "PIPPIN_C_1"},
    "docs/python.md": {"deepcopy", "model", "progress"},
    "docs/arrays.md": {"__dlpack__", "memoryview", "model"},
}


def faults_of(root):
    headers = headers_of(root)
    names = python_names(package_of(root, headers))
    lines = undocumented(headers, names) + stale(root, pages_of(headers, names))
    in_c, in_cpp, in_python = known_names(headers, names)
    for path, allowed in DOCUMENTS.items():
        known = in_python if path.endswith(("python.md", "arrays.md")) else in_cpp
        lines += unknown_names(path, (root / path).read_text(encoding="utf-8"), known, in_c, allowed)
    return lines


def update(root):
    headers = headers_of(root)
    for path, text in pages_of(headers, python_names(package_of(root, headers))).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def main():
    if sys.argv[1:] == ["--update"]:
        update(ROOT)
    elif sys.argv[1:] == ["--self-test"]:
        unittest.main(module="self_test", argv=sys.argv[:1])
    elif not sys.argv[1:]:
        sys.exit("\n".join(faults_of(ROOT)) or 0)
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
