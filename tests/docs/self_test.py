"""Shows that the checks of reference.py can fail."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import reference  # noqa: E402
from cpp_header import read_header  # noqa: E402
from python_package import bound_texts  # noqa: E402
from tables import table  # noqa: E402

HEADER = """// Shapes of things.
#pragma once

#define PIPPIN_API __attribute__((visibility("default")))  // marks symbols

namespace pippin::mx {

class Later;

// A kind.
enum class Kind : uint8_t {
  First,   // the first one,
           // in two lines
  Second,
};

// Returns the sum, [n]. Throws InvalidArgument for no elements.
PIPPIN_API array sum(const array& a, const std::optional<int>& axis = std::nullopt,
                     void (*done)(void* user) = nullptr);
PIPPIN_API array sum(int a);

// A pair.
template <typename T, size_t N = 3>
class Pair : public Base<T> {
 public:
  Pair() = default;
  Pair(Pair&&) noexcept = default;
  // Makes both.
  explicit Pair(T one) : first(one), second{one} {}
  ~Pair() override;
  T operator()(int i) const override { return i == 0 ? first : second; }
  bool operator==(const Pair& other) const { return first == other.first; }  // compares both

  // The two.
  T first, second;
  std::function<int(const T&)> change = {};  // called with each

 protected:
  void hidden();

 private:
  int secret_ = 0;
};

// As in std::vector:
inline size_t size() { return 1; }
inline bool empty() {
  return false;
}

inline void bare() {}
}  // namespace pippin::mx
"""
STUB = 'class Made:\n    def take(self, n: int = 1, *, deep: bool = False) -> int: ...\n'
BINDING = '''py::class_<Made, std::shared_ptr<Made>>(module, "Made", docs::kMade)
    .def("take", [](const Made& self, int n) { return "a, (b"; }, py::arg("n") = 1,
         "Takes \\"n\\" "
         "things.");'''
DOCS = 'inline constexpr const char* kMade =\n    R"(A thing, "made".)";'


def write(root, files):
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


class Headers(unittest.TestCase):
    def setUp(self):
        self.title, self.declarations = read_header(HEADER)
        self.named = {}
        for one in self.declarations:
            self.named.setdefault(one.path, one)

    def test_declarations_are_found(self):
        self.assertEqual(self.title, "Shapes of things.")
        self.assertEqual([one.form for one in self.declarations][:4],
                         ["PIPPIN_API", "enum Kind", "sum(a, axis = none, done = null)", "sum(a)"])
        self.assertEqual({"Pair::Pair", "Pair::operator()", "Pair::operator==", "Pair::first", "Pair::second",
                          "Pair::change", "size", "empty", "bare", "Kind", "sum", "Pair", "PIPPIN_API"},
                         set(self.named))
        self.assertEqual(self.named["Kind"].values, [("First", "the first one,\nin two lines"), ("Second", "")])
        self.assertEqual(self.named["sum"].namespace, "pippin::mx")

    def test_comments_are_found(self):
        self.assertEqual(self.named["Pair::second"].comment, "The two.")
        self.assertEqual(self.named["Pair::change"].comment, "called with each")
        self.assertEqual(self.named["empty"].comment, "As in std::vector:")
        self.assertEqual([one.comment for one in self.declarations if one.name == "sum"],
                         ["Returns the sum, [n]. Throws InvalidArgument for no elements."] * 2)

    def test_missing_comments_are_reported(self):
        self.assertEqual(reference.undocumented({"x.h": (self.title, self.declarations)}, {}),
                         [f"x.h:{self.named['bare'].line}: function bare has no comment"])

    def test_errors_have_a_column(self):
        rows = reference.header_rows([one for one in self.declarations if one.name == "sum"], "pippin::mx")
        self.assertIn("| `sum(a, axis = none, done = null)`<br>`sum(a)` | Returns the sum, [n]. | Throws "
                      "InvalidArgument for no elements. |", table("declaration", rows))


class Documents(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        write(self.root, {
            "cmake/install.cmake": "install(FILES pippin/c/pippin.h)\nforeach(header mx/things.h)\n",
            "pippin/c/pippin.h": "// C.\n\n// Runs.\nint pippin_run(void);\n",
            "pippin/mx/things.h": HEADER.replace("inline void bare() {}\n", ""),
            "pippin/python/made.cpp": BINDING,
            "pippin/python/docs.h": DOCS,
            "pippin/python/pippin/__init__.py": '"""A package."""\nfrom ._pippin import Made\n__all__ = ["Made"]\n',
            "pippin/python/pippin/_pippin.pyi": STUB,
            "docs/cpp-api.md": "`sum(a)`", "docs/c.md": "`pippin_run()`",
            "docs/python.md": "`Made()` and `made.take(2)`", "docs/arrays.md": "",
        })
        reference.update(self.root)

    def test_a_documented_tree_passes(self):
        self.assertEqual(reference.faults_of(self.root), [])
        self.assertIn("| `Made.take(n=1, *, deep=False)` | Takes \"n\" things. |",
                      (self.root / reference.PYTHON_PAGE).read_text(encoding="utf-8"))

    def assert_fault(self, files, words):
        write(self.root, files)
        faults = reference.faults_of(self.root)
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(words, faults[0])

    def test_stale_tables_are_reported(self):
        self.assert_fault({"pippin/c/pippin.h": "// C.\n\n// Runs again.\nint pippin_run(void);\n"},
                          "docs/reference/c.md: differs")

    def test_functions_that_the_tables_lack_are_reported(self):
        page = self.root / "docs/reference/arrays.md"
        lines = [line for line in page.read_text(encoding="utf-8").split("\n") if "`size()`" not in line]
        self.assert_fault({"docs/reference/arrays.md": "\n".join(lines)}, "docs/reference/arrays.md: differs")

    def test_names_that_do_not_exist_are_reported(self):
        self.assert_fault({"docs/cpp-api.md": "`sum(a)` and\n`summe(a)`"}, "docs/cpp-api.md:2: summe()")
        self.assert_fault({"docs/cpp-api.md": "", "docs/c.md": "```c\npippin_walk(1);\n```\n"},
                          "pippin_walk is not in pippin.h")
        self.assert_fault({"docs/c.md": "", "docs/python.md": "`made.give(2)`"}, "docs/python.md:1: give()")

    def test_missing_docstrings_are_reported(self):
        changed = BINDING.replace('"Takes', 'text("Takes').replace('"things."', '"things.")')
        write(self.root, {"pippin/python/made.cpp": changed})
        reference.update(self.root)
        self.assertEqual(reference.faults_of(self.root), ["pippin: Made.take has no docstring"])

    def test_headers_that_do_not_exist_are_reported(self):
        write(self.root, {"cmake/install.cmake": "install(FILES pippin/gone.h)"})
        with self.assertRaises(SystemExit):
            reference.faults_of(self.root)

    def test_bound_texts_are_found(self):
        self.assertEqual(bound_texts(self.root / "pippin/python"),
                         {"Made": 'A thing, "made".', "Made.take": 'Takes "n" things.'})
