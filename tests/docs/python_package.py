"""Public names of the Python package with their signatures and docstrings, read without importing it.

A name is public if it is in `__all__`, or, in modules without that, if it does not begin with an underscore. Names that
another module of the package defines are followed there. The text of a name that C++ defines is the docstring in its
stub, else the one that the binding gives to pybind11; that of a function of pippin.core is the comment of the C++
function of the same name."""

import ast
import re
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Name:
    module: str
    name: str  # "Model", "Model.predict"
    form: str  # "Model.predict(inputs, state=None, *, out=None)"
    text: str
    is_class: bool = False
    members: list = field(default_factory=list)
    is_bound: bool = False  # defined in C++

    @property
    def path(self):
        return f"{self.module}.{self.name}"


def signature_of(function, skip_first):
    """The parameters as source, without types: "a, /, axis=None, *, keepdims=False"."""
    arguments = function.args
    plain = arguments.posonlyargs + arguments.args
    defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    parts = []
    for i, (argument, default) in enumerate(zip(plain, defaults)):
        if not (skip_first and i == 0):
            parts.append(argument.arg + (f"={ast.unparse(default)}" if default else ""))
        if i + 1 == len(arguments.posonlyargs) and parts:
            parts.append("/")
    if arguments.vararg:
        parts.append("*" + arguments.vararg.arg)
    elif arguments.kwonlyargs:
        parts.append("*")
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults):
        parts.append(argument.arg + (f"={ast.unparse(default)}" if default else ""))
    if arguments.kwarg:
        parts.append("**" + arguments.kwarg.arg)
    return ", ".join(part for part in parts if not part.startswith("stream="))


def decorators_of(function):
    return {ast.unparse(one).split("(")[0].split(".")[-1] for one in function.decorator_list}


class Package:
    def __init__(self, folder, bound):
        """`bound(path)` gives the text of a name that C++ defines, "" if there is none."""
        self.folder, self.bound, self.trees = Path(folder), bound, {}

    def modules(self):
        """The names of public modules, a package before its modules."""
        found = []
        for file in sorted([*self.folder.rglob("*.py"), *self.folder.rglob("*.pyi")]):
            parts = file.relative_to(self.folder).with_suffix("").parts
            parts = parts[:-1] if parts[-1] == "__init__" else parts
            if not any(part.startswith("_") for part in parts):
                found.append(".".join(("pippin", *parts)))
        return sorted(set(found))

    def tree(self, module):
        """(the parsed file of a module, whether it is a stub, whether it is that of a folder)."""
        if module not in self.trees:
            base = self.folder.joinpath(*module.split(".")[1:])
            files = [base / "__init__.pyi", base / "__init__.py", base.with_suffix(".pyi"), base.with_suffix(".py")]
            file = next((one for one in files if one.exists()), None)
            if file is None or file.suffix == ".py" and not file.exists():
                raise FileNotFoundError(f"{module}: there is no such module")
            self.trees[module] = (ast.parse(file.read_text(encoding="utf-8")), file.suffix == ".pyi",
                                  file.stem == "__init__")
        return self.trees[module]

    def source_of(self, module, node):
        """The module that an import takes names from; None if it is not of this package."""
        is_package = self.tree(module)[2]
        if node.level == 0:
            return node.module if (node.module or "").split(".")[0] == "pippin" else None
        parts = module.split(".")
        parts = parts[:len(parts) - node.level + (1 if is_package else 0)]
        return ".".join(parts + ([node.module] if node.module else []))

    def statements(self, module):
        """The statements of a module, with those of `if TYPE_CHECKING`."""
        for node in self.tree(module)[0].body:
            yield node
            if isinstance(node, ast.If):
                yield from node.body

    def exported(self, module):
        """The names of a literal `__all__`, or None."""
        for node in self.statements(module):
            is_list = isinstance(node, ast.Assign) and isinstance(node.value, ast.List)
            if is_list and ast.unparse(node.targets[0]) == "__all__":
                return [one.value for one in node.value.elts]
        return None

    def defined(self, module):
        """{name: (module that defines it, its statement)} of everything in a module."""
        found = {}
        for node in self.statements(module):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                if node.name not in found or "overload" not in decorators_of(node):
                    found[node.name] = (module, node)
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                target = node.targets[0] if isinstance(node, ast.Assign) else node.target
                if isinstance(target, ast.Name):
                    found[target.id] = (module, node)
            elif isinstance(node, ast.ImportFrom):
                source = self.source_of(module, node)
                if source is None:
                    continue
                for one in node.names:
                    if one.name == "*":
                        found.update({name: value for name, value in self.defined(source).items()
                                      if name in (self.exported(source) or [name]) and not name.startswith("_")})
                    elif one.asname is None or one.asname == one.name or module == "pippin":
                        found[one.asname or one.name] = (source, one.name)
        return found

    def resolve(self, module, name):
        """(module, statement) of a name; the statement is None for a module."""
        seen = set()
        while (module, name) not in seen:
            seen.add((module, name))
            found = self.defined(module).get(name)
            if found is None:
                return module, None
            home, what = found
            if not isinstance(what, str):
                if isinstance(what, ast.Assign) and isinstance(what.value, ast.Name):
                    name = what.value.id  # another name of the same
                    continue
                return home, what
            if self.is_module(f"{home}.{what}"):
                return f"{home}.{what}", None
            module, name = home, what
        return module, None

    def is_module(self, name):
        try:
            self.tree(name)
        except FileNotFoundError:
            return False
        return True

    def names(self, module):
        """The public names of a module that are classes or functions, each as Name."""
        exported = self.exported(module)
        for name in exported if exported is not None else self.defined(module):
            if name.startswith("_"):
                continue
            home, node = self.resolve(module, name)
            if exported is None and not self.belongs(module, home):
                continue
            if isinstance(node, ast.ClassDef):
                yield self.class_name(module, name, home, node)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield self.function_name(module, name, home, node)

    @staticmethod
    def belongs(module, home):
        """Whether a module without __all__ shows names from another one: its private parts' names."""
        return home == module or home.rsplit(".", 1)[-1].startswith("_") and home.startswith(module.rsplit(".", 1)[0])

    def function_name(self, module, name, home, node):
        is_stub = self.tree(home)[1]
        text = ast.get_docstring(node) or (self.bound(f"{home}.{node.name}") if is_stub else "")
        return Name(module, name, f"{name}({signature_of(node, False)})", text, is_bound=is_stub)

    def class_name(self, module, name, home, node):
        is_stub = self.tree(home)[1]
        text = ast.get_docstring(node) or (self.bound(f"{home}.{node.name}") if is_stub else "")
        made = Name(module, name, f"class {name}", text, True, is_bound=is_stub)
        seen = set()
        for member in node.body:
            if not isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            if member.name == "__init__":
                made.form = f"{name}({signature_of(member, True)})"
            if member.name.startswith("_") or member.name in seen or "setter" in decorators_of(member):
                continue
            seen.add(member.name)
            decorators = decorators_of(member)
            is_property = bool(decorators & {"property", "cached_property"})
            path = f"{name}.{member.name}"
            form = path if is_property else f"{path}({signature_of(member, 'staticmethod' not in decorators)})"
            own = ast.get_docstring(member) or (self.bound(f"{home}.{node.name}.{member.name}") if is_stub else "")
            made.members.append(Name(module, path, form, own, is_bound=is_stub))
        return made


def literal_of(text):
    """The text of adjacent string literals of C++, or None if there is something else."""
    parts = []
    at = 0
    pattern = re.compile(r'\s*(?:"((?:\\.|[^"\\])*)"|R"\((.*?)\)")', re.S)
    while at < len(text.rstrip()):
        found = pattern.match(text, at)
        if not found:
            return None
        parts.append(found[2] if found[2] is not None else ast.literal_eval(f'"{found[1]}"'))
        at = found.end()
    return "".join(parts) if parts else None


def arguments_of(text, opening):
    """The arguments of a call in C++ whose bracket opens at this index, and the index after it."""
    parts, depth, at, start = [], 0, opening, opening + 1
    while at < len(text):
        if text.startswith('R"(', at):
            at = text.index(')"', at) + 2
            continue
        letter = text[at]
        if letter == '"' or letter == "'" and not text[at - 1].isalnum():
            at += 1
            while text[at] != letter:
                at += 2 if text[at] == "\\" else 1
        elif text.startswith("//", at):
            at = text.index("\n", at)
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if depth == 0:
                return parts + [text[start:at]], at + 1
        elif letter == "," and depth == 1:
            parts.append(text[start:at])
            start = at + 1
        at += 1
    raise SyntaxError("a bracket is not closed")


def bound_texts(folder):
    """{"Model.predict": docstring} of what pybind11 binds in the sources of a folder."""
    named, texts = {}, {}
    for file in sorted(Path(folder).glob("*.h")):
        for found in re.finditer(r"constexpr const char\* (k\w+)\s*=\s*(R\"\(.*?\)\"|(?:\"(?:\\.|[^\"\\])*\"\s*)+);",
                                 file.read_text(encoding="utf-8"), re.S):
            named[found[1]] = literal_of(found[2])
    call = re.compile(r"py::class_<|\.def(?:_static|_property_readonly|_property|_readonly)?\(|\bmodule\.def\(")
    for file in sorted(Path(folder).glob("*.cpp")):
        text, scope = file.read_text(encoding="utf-8"), ""
        for found in call.finditer(text):
            opening = text.index("(", found.end() - 1) if found[0] != "py::class_<" else after_angles(text, found.end())
            arguments, _ = arguments_of(text, opening)
            is_class = found[0] == "py::class_<"
            at = 1 if is_class else 0
            name = literal_of(arguments[at]) if len(arguments) > at else None
            if name is None:
                continue
            last = arguments[-1].strip()
            words = re.fullmatch(r"(?:docs::)?(k\w+)", last)
            doc = named.get(words[1]) if words else literal_of(last)
            if is_class:
                scope = name
            path = name if is_class or text[found.start():].startswith("module.def") else f"{scope}.{name}"
            if doc is not None and doc != name:
                texts.setdefault(path, doc)
    return texts


def after_angles(text, at):
    """The index of the round bracket after angle brackets that are open at an index."""
    depth = 1
    while depth:
        depth += (text[at] == "<") - (text[at] == ">")
        at += 1
    return text.index("(", at)
