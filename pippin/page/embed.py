#!/usr/bin/env python3
"""Prepares the page's files for the binary.

    embed.py OUT MARKDOWN_IT LICENCE FILE...

FILEs are the page's own; MARKDOWN_IT is the folder of a CommonJS package, which becomes one ES module; LICENCE its licence.
OUT gets each file, plain and compressed, and page_files.cpp, which embeds them. VERSION in index.html is replaced by a
digest of all files: files with it in their path may be cached for ever. The line PRELOAD is replaced by one line for
each module, so that a browser requests all of them at once.
"""

import gzip
import hashlib
import json
import re
import sys
from pathlib import Path

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
# Skips comments, which contain examples.
REQUIRE = re.compile(r"""^(?!\s*(?:\*|//)).*?\brequire\(\s*['"]([^'"]+)['"]\s*\)""", re.M)
# A part of Node, only used for non-ASCII host names, which browsers convert themselves.
BUILT_IN = {"punycode": "exports.toASCII = exports.toUnicode = (name) => name;"}


def resolve(name, user):
    """Returns the file that require(name) refers to in `user`."""
    if name.startswith("."):
        starts = [user.parent / name]
    else:
        starts = [folder / "node_modules" / name for folder in user.parents]
        starts += [folder / name for folder in user.parents if folder.name == "nodejs"]
    for start in starts:
        for path in (start, start.with_name(start.name + ".js"), start.with_name(start.name + ".json"), start / "index.js"):
            if path.is_file():
                return path.resolve()
    sys.exit(f"embed.py: {user} needs {name}, which is not there")


def module_of(package):
    """Returns a package and its dependencies as the text of one ES module."""
    parts, names = [], {}

    def add(path):
        if path in names:
            return names[path]
        names[path] = len(names)
        text = path.read_text(encoding="utf-8")
        number, needs = names[path], {}
        if path.suffix == ".json":
            text = "module.exports = " + text
        else:
            for name in REQUIRE.findall(text):
                if name in BUILT_IN and not name.startswith("."):
                    parts.append(f"{json.dumps(name)}: (require, module, exports) => {{{BUILT_IN[name]}}},")
                    needs[name] = name
                else:
                    needs[name] = add(resolve(name, path))
        parts.append(f"{number}: (require, module, exports) => {{ const needs = {json.dumps(needs)};"
                     f" ((require) => {{\n{text}\n}})((name) => require(needs[name])); }},")
        return number

    first = add(resolve(".", package / "package.json"))
    return ("const files = {\n" + "\n".join(parts) + "\n};\nconst made = {};\n"
            "function require(name) {\n  if (made[name]) return made[name].exports;\n  const module = { exports: {} };\n"
            "  made[name] = module;\n  files[name](require, module, module.exports);\n  return module.exports;\n}\n"
            f"export default require({first});\n")


def main():
    out, package, licence, *sources = map(Path, sys.argv[1:])
    out.mkdir(parents=True, exist_ok=True)
    files = {path.name: path.read_bytes() for path in sources}
    files["markdown-it.js"] = module_of(package).encode()
    files["licences.txt"] = licence.read_bytes()
    version = hashlib.sha256(b"".join(name.encode() + b"\0" + files[name] for name in sorted(files))).hexdigest()[:16]
    modules = "\n".join(f'<link rel="modulepreload" href="page/{version}/{name}">' for name in sorted(files) if name.endswith(".js"))
    index = files["index.html"].decode().replace("VERSION", version).replace("PRELOAD", modules)
    files["index.html"] = index.encode()

    embedded, entries = [], []
    for number, (name, content) in enumerate(sorted(files.items())):
        path = "/" if name == "index.html" else f"/page/{version}/{name}"
        (out / name).write_bytes(content)
        (out / (name + ".gz")).write_bytes(gzip.compress(content, 9, mtime=0))
        embedded.append(f'PIPPIN_EMBED(pippin_page_{number}, "{out / name}");\n'
                        f'PIPPIN_EMBED(pippin_page_{number}_gzip, "{out / name}.gz");\n')
        entries.append(f'    {{"{path}", "{TYPES[Path(name).suffix]}", "{hashlib.sha256(content).hexdigest()[:16]}",\n'
                       f"     text(pippin_page_{number}, pippin_page_{number}_end),\n"
                       f"     text(pippin_page_{number}_gzip, pippin_page_{number}_gzip_end)}},\n")
    (out / "page_files.cpp").write_text(
        '#include <vector>\n\n#include "pippin/base/embed.h"\n#include "pippin/page/page.h"\n\n' + "".join(embedded) +
        "\nnamespace pippin::page {\nnamespace {\n\nstd::string_view text(const char* begin, const char* end) {\n"
        "  return {begin, static_cast<size_t>(end - begin)};\n}\n\n}  // namespace\n\nstd::span<const File> files() {\n"
        "  static const std::vector<File> all = {\n" + "".join(entries) + "  };\n  return all;\n}\n\n}  // namespace pippin::page\n")


main()
