#!/usr/bin/env python3
"""Checks that the shared library exports what the public headers declare.

    check_symbols.py INCLUDE LIBRARY   the installed headers under INCLUDE and libpippin.so.0
    check_symbols.py --self-test       checks that the check can fail

The library must export exactly the symbols that the headers declare but do not define; the headers must mark them
(PIPPIN_API) and include only the standard library and each other; the library must need only the libraries below.
One line per fault; the status is 1 if there is any.
"""

import re
import subprocess
import sys
from pathlib import Path

NEEDED = """ld-linux libc libcrypto libcurl libfmt libgcc_s libjpeg libm libpcre2-8 libpng16 libprotobuf-lite libsamplerate libstdc++
    libutf8proc libyaml-cpp libz libzip""".split()
SONAME = "libpippin.so.0"
NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|^[ \t]*#(?:\\\n|[^\n])*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'", re.M | re.S)
TYPE = re.compile(r"^(?:class|struct|union)\s+(PIPPIN_API\s+)?(\w+)")
FUNCTION = re.compile(r"(operator\s*\S+?|~?\w+)\s*\(")


def without_arguments(text):
    """`text` without the arguments of templates."""
    previous = None
    while previous != text:
        previous, text = text, re.sub(r"(?<!operator)<[^<>]*>", "", text)
    return text


class Header:
    """The declarations of a header: `types` and `functions`, qualified, that belong to the library; and its
    `faults`."""

    def __init__(self, path, text):
        self.path, self.types, self.functions, self.faults = path, set(), set(), []
        self.tokens = re.findall(r"[{};]|[^{};]+", NO_CODE.sub(" ", text))
        self.scope([], None)

    def skip(self):
        depth = 1
        while depth:
            depth += {"{": 1, "}": -1}.get(self.tokens.pop(0), 0)

    def scope(self, names, marked):
        """Reads up to the closing brace. `marked`: for a type, whether it is marked; None: a namespace."""
        head = ""
        while self.tokens:
            token = self.tokens.pop(0)
            if token == "}":
                return
            if token not in "{;":
                head += re.sub(r"\b(public|protected|private)\s*:(?!:)", " ", token)
                continue
            text, head = " ".join(head.split()), ""
            if token == ";":
                self.declaration(text, names, marked)
            elif text.startswith("namespace "):
                self.scope(names + text.split()[1].split("::"), None)
            elif text == "extern":  # "C"
                self.scope(names, None)
            elif TYPE.match(text):
                mark, name = TYPE.match(text).groups()
                if mark or marked:
                    self.types.add("::".join(names + [name]))
                self.scope(names + [name], bool(mark or marked))
            else:
                self.skip()

    def declaration(self, text, names, marked):
        text = without_arguments(text)
        if re.match(r"template\b|using\b|friend\b|static_assert\b|typedef\b", text):
            return
        name = FUNCTION.search(text)
        if name and re.search(r"(?<!operator)=", text[: name.start()]):
            return  # a variable and its value
        is_virtual = text.startswith("virtual ")
        if name is None or (re.search(r"= (default|delete|0)$", text) and not is_virtual):
            return
        qualified = "::".join(names + [name[1].replace(" ", "")])
        if not (marked or "PIPPIN_API" in text):
            self.faults.append(f"{self.path}: {qualified} is not marked PIPPIN_API")
        elif not re.search(r"= (default|delete|0)$", text):
            self.functions.add(qualified)


def bare(symbol):
    """The qualified name in a demangled symbol, and whether it is a table of a type."""
    table = re.match(r"(?:typeinfo|typeinfo name|vtable|VTT|construction vtable) for ", symbol)
    symbol = symbol[table.end() :] if table else symbol
    symbol = re.sub(r"@@?PIPPIN_(?:C_)?[\d.]+$|\[abi:\w+\]", "", symbol)
    operator = re.search(r"operator\(\)", symbol)
    return without_arguments(symbol[: symbol.index("(", operator.end() if operator else 0)] if "(" in symbol else symbol), table


def compare(headers, symbols):
    """The faults of a library that exports `symbols`, compared with `headers`."""
    faults = [fault for header in headers for fault in header.faults]
    types = set().union(*(header.types for header in headers))
    functions = set().union(*(header.functions for header in headers))
    shown = set()
    for symbol in symbols:
        name, is_table = bare(symbol)
        shown.add(name)
        owner = name if is_table else name.rpartition("::")[0]
        if owner not in types and (is_table or name not in functions):
            faults.append(f"the library shows what no public header marks: {symbol}")
    faults += [f"the library does not show {name}" for name in sorted(functions - shown)]
    return faults


def read_headers(include):
    headers, faults = [], []
    for path in sorted(include.rglob("*.h")):
        text = path.read_text(encoding="utf-8")
        headers.append(Header(path.relative_to(include), text))
        for name in re.findall(r"^#include (\S+)", text, re.M):
            standard = re.fullmatch(r"<(?:[a-z_]+|std(?:def|int)\.h)>", name)
            own = re.fullmatch(r'"(pippin/[a-z_/0-9]+\.h)"', name)
            if not standard and not (own and (include / own[1]).is_file()):
                faults.append(f"{path.relative_to(include)} includes {name}")
    return headers, faults


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def check(include, library):
    headers, faults = read_headers(include)
    symbols = [line.split(None, 2)[2] for line in output("nm", "-D", "--defined-only", "-C", library).splitlines()]
    faults += compare(headers, [symbol for symbol in symbols if not re.fullmatch(r"PIPPIN_(C_)?[\d.]+(@@.*)?", symbol)])
    dynamic = output("readelf", "-d", library)
    soname = re.findall(r"\(SONAME\).*\[(.*)\]", dynamic)
    if soname != [SONAME]:
        faults.append(f"its SONAME is {soname}; expected {SONAME}")
    needed = {re.sub(r"(?<=ld-linux).*|\.so\b.*", "", name) for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)}
    faults += [f"the library needs {name}, which is not expected" for name in sorted(needed - set(NEEDED))]
    if re.search(r"\((RPATH|RUNPATH|TEXTREL)\)", dynamic):
        faults.append("the library has a run path or relocations in its code")
    return faults


SELF_TEST = """
#include <span>  // namespace other {
namespace a::b {
enum class E { X };
PIPPIN_API std::string text(const std::map<int, std::function<void(int)>>& of);
void lost(int x = 0);
struct Plain { int x = f(); std::function<void(int)> call = {}; };
struct Half { int size() const { return 1; } void out(); };
class PIPPIN_API Whole : public Plain {
 public:
  explicit Whole(int x) : x_{x} {}
  ~Whole();
  Whole& operator=(Whole&&) noexcept;
  bool operator()(int) const;
  virtual void pure() = 0;
  struct Inner { void act(); };
 private:
  struct Impl;
  int x_;
};
}
#ifdef __cplusplus
extern "C" {
#endif
typedef int (*callback)(void* user);
enum { OK = 0 };
PIPPIN_API int c_call(callback call, void (*end)(void* user));
}
"""


def self_test():
    header = Header("x.h", SELF_TEST)
    right = ["a::b::text[abi:cxx11](int)@@PIPPIN_0.1", "a::b::Whole::~Whole()", "a::b::Whole::operator=(a::b::Whole&&)",
             "a::b::Whole::operator()(int) const", "a::b::Whole::Inner::act()", "typeinfo for a::b::Whole", "c_call@@PIPPIN_C_1"]
    marks = ["x.h: a::b::lost is not marked PIPPIN_API", "x.h: a::b::Half::out is not marked PIPPIN_API"]
    assert compare([header], right) == marks, compare([header], right)
    assert compare([header], right[1:])[2:] == ["the library does not show a::b::text"]
    for extra in ["std::vector<a::b::Whole>::push_back(int)", "a::b::Whole::Impl::Impl(int)", "a::b::kernel(int)",
                  "typeinfo for a::b::Whole::Impl", "vtable for fmt::v9::format_error"]:
        assert compare([header], right + [extra])[2:] == ["the library shows what no public header marks: " + extra], extra


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    faults = check(Path(sys.argv[1]), sys.argv[2])
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
