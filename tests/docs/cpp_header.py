"""Public declarations of a C or C++ header with their comments, read without a compiler.

A declaration's comment stands directly above it or after it on the same line. Overloads that follow without a blank
line share the comment of the first one. A comment that ends with a colon is that of all declarations up to the next
blank line. Private and protected members are left out."""

import re
from dataclasses import dataclass, field

from cpp_tokens import Token, call_at, closing, joined, parameter_form, split_at_commas, tokens_of, up_to

MODIFIERS = {"PIPPIN_API", "inline", "constexpr", "static", "virtual", "explicit", "extern", "mutable", "typedef"}
IGNORED_COMMENTS = re.compile(r"//\s*(NOLINT|IWYU|clang-format)")


@dataclass
class Declaration:
    kind: str  # function, type, enum, alias, variable, macro
    scope: str  # of the class, "" outside
    name: str
    form: str  # as the tables write it
    comment: str
    line: int
    needs_comment: bool = True
    values: list = field(default_factory=list)  # of an enumeration: (name, comment)
    section: str = ""  # the last comment like "// --- errors ---"
    namespace: str = ""

    @property
    def path(self):
        return f"{self.scope}::{self.name}" if self.scope else self.name


def text_of(comments):
    """The text of lines of comments."""
    lines = [re.sub(r"^//+ ?|^/\*+ ?|\s*\*/$", "", comment) for comment in comments]
    return "\n".join(line.rstrip() for line in lines).strip()


class Reader:
    """The declarations of one header, in order."""

    def __init__(self, text):
        self.tokens = tokens_of(text)
        self.declarations = []
        self.title = ""  # the comment that the header begins with
        self.section = self.namespace = ""
        self.at = 0
        self.comment, self.comment_end = [], 0  # the last comment on lines of its own
        self.group, self.group_end = None, 0  # (comment, name, whether it covers all) and the last line that it covers
        self.read_scope("", False)

    def note_comment(self, token):
        if not token.is_first:
            return
        if IGNORED_COMMENTS.match(token.text):
            if self.comment_end == token.line - 1:
                self.comment_end = token.line
            return
        heading = re.fullmatch(r"// --- (.*) ---", token.text)
        if heading and token.column == 0:
            self.section, self.comment = heading[1], []
            return
        if self.comment_end != token.line - 1:
            self.comment = []
        self.comment.append(token.text)
        self.comment_end = token.line

    def note_directive(self, token):
        if not self.title and self.comment:
            self.title = text_of(self.comment)
        macro = re.match(r"\s*#\s*define\s+(\w+)(\([^)]*\))?[ \t]+\S", token.text)
        is_undefined = macro and any(one.kind == "directive" and re.search(rf"undef\s+{macro[1]}\b", one.text)
                                     for one in self.tokens)
        if macro and not is_undefined:
            above = text_of(self.comment) if self.comment_end == token.line - 1 else ""
            comment = above or text_of(re.findall(r"//.*", token.text))
            self.add("macro", "", macro[1], macro[1] + (macro[2] or ""), comment, token.line)

    def add(self, kind, scope, name, form, comment, line, **more):
        self.declarations.append(Declaration(kind, scope, name, form, comment, line, section=self.section,
                                             namespace=self.namespace, **more))

    def trailing_comment(self, line):
        """The comment after a declaration that ends in this line, with lines below in the same column."""
        comments, column = [], None
        i = self.at
        while i < len(self.tokens) and self.tokens[i].kind == "comment":
            token = self.tokens[i]
            is_next = token.is_first and token.column == column
            fits = is_next if column is not None else token.line == line and not token.is_first
            if not fits or token.line > line + len(comments):
                break
            comments.append(token.text)
            column = token.column
            i += 1
        if comments and not IGNORED_COMMENTS.match(comments[0]):
            self.at = i
            return text_of(comments), line + len(comments) - 1
        return "", line

    def comment_of(self, first, last, name):
        """The comment of a declaration on these lines."""
        own = text_of(self.comment) if self.comment and self.comment_end == first - 1 else ""
        trailing, end = self.trailing_comment(last)
        if own:
            self.group = (own, name, own.endswith(":"))
        elif self.group and self.group_end == first - 1 and (self.group[2] or self.group[1] == name):
            own = self.group[0] if not trailing else own
        else:
            self.group = (trailing, name, False) if trailing else None
        self.group_end = end
        if own and trailing:
            trailing = trailing[:1].upper() + trailing[1:]
        return " ".join(one for one in (own, trailing) if one)

    def read_scope(self, scope, is_class, access="public"):
        """Reads up to the bracket that closes the scope."""
        statement = []
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            self.at += 1
            if token.kind == "comment":
                if not statement:
                    self.note_comment(token)
            elif token.kind == "directive":
                self.note_directive(token)
            elif token.text == "}" and not statement:
                return
            elif token.text == ":" and is_class and len(statement) == 1:
                access, statement = statement[0].text, []
            elif token.text == "(" or token.text == "[":
                end = closing(self.tokens, self.at - 1)
                statement += [one for one in self.tokens[self.at - 1:end + 1] if one.kind != "comment"]
                self.at = end + 1
                is_macro = re.fullmatch("PIPPIN_[A-Z_]+", statement[0].text) and statement[-1].text == ")"
                if is_macro and self.starts_line():
                    statement = []
            elif token.text == "{":
                if self.open_brace(statement, scope, access):
                    statement = []
                else:
                    statement.append(Token("sign", "{}", token.line, token.column, False))
            elif token.text == ";":
                self.finish(statement, scope, access, token.line)
                statement = []
            else:
                statement.append(token)

    def starts_line(self):
        return self.at < len(self.tokens) and self.tokens[self.at].is_first

    def open_brace(self, statement, scope, access):
        """Reads what a bracket opens; returns whether the statement has ended."""
        texts = [token.text for token in statement]
        head = self.plain(statement)
        words = [token.text for token in head]
        if not statement or words[:1] == ["namespace"] or texts[:1] == ["extern"] and '"C"' in texts:
            outer = self.namespace
            if words[:1] == ["namespace"]:
                self.namespace = "::".join(one for one in (outer, joined(statement[1:])) if one)
            self.read_scope("", False)
            self.namespace = outer
            return True
        if words and words[0] == "enum":
            self.read_enumeration(statement, head, scope, access)
            return True
        if words and words[0] in ("class", "struct", "union") and "=" not in words:
            self.read_class(statement, head, scope, access)
            return True
        start = self.at - 1
        end = closing(self.tokens, start)
        self.at = end + 1
        is_function = "operator" in texts or call_at(up_to(self.plain(statement), "=")) is not None
        following = self.tokens[self.at].text if self.at < len(self.tokens) else ""
        if not is_function or following in ("{", ","):
            return False
        self.finish(statement, scope, access, self.tokens[end].line)
        if self.at < len(self.tokens) and self.tokens[self.at].text == ";":
            self.at += 1
        return True

    @staticmethod
    def plain(statement):
        """The statement without a template's head and without modifiers."""
        tokens = list(statement)
        while tokens and tokens[0].text == "template":
            tokens = tokens[closing(tokens, 1) + 1:]
            if tokens and tokens[0].text == "requires":
                tokens = tokens[closing(tokens, 1) + 1:]
        while tokens and (tokens[0].text in MODIFIERS or tokens[0].text == "["):
            tokens = tokens[closing(tokens, 0) + 1:] if tokens[0].text == "[" else tokens[1:]
        return tokens

    def read_class(self, statement, head, scope, access):
        words = [token.text for token in head if token.text not in MODIFIERS]
        name = words[1] if len(words) > 1 else ""
        comment = self.comment_of(statement[0].line, 0, name)
        is_specialization = "<" in words[2:3]
        is_shown = access == "public" and not is_specialization and name
        if is_shown:
            self.add("type", scope, name, f"{words[0]} {name}", comment, statement[0].line)
        path = f"{scope}::{name}" if scope else name
        kept = len(self.declarations)
        self.read_scope(path, True, "private" if words[0] == "class" else "public")
        if not is_shown:
            del self.declarations[kept:]
        while self.tokens[self.at].text != ";":
            self.at += 1
        self.at += 1

    def read_enumeration(self, statement, head, scope, access):
        name = next((token.text for token in head[1:] if token.text not in ("class", "struct", ":")), "")
        end = closing(self.tokens, self.at - 1)
        values, ready = [], True
        above = self.comment if self.comment_end == statement[0].line - 1 else []
        comment, saved = text_of(above), self.section
        while self.at < end:
            token = self.tokens[self.at]
            self.at += 1
            if token.kind == "comment":
                self.note_comment(token)
            elif token.text == ",":
                ready = True
            elif ready and token.kind == "word":
                while self.at < end and self.tokens[self.at].text != "," and self.tokens[self.at].kind != "comment":
                    self.at += 1
                ready = False
                is_above = self.comment_end == token.line - 1 and token.line > statement[-1].line
                own = text_of(self.comment) if is_above else ""
                if self.at < end and self.tokens[self.at].text == ",":
                    self.at += 1
                    ready = True
                trailing, _ = self.trailing_comment(token.line)
                values.append((token.text, " ".join(one for one in (own, trailing) if one)))
        self.at = end + 1
        while self.tokens[self.at].text != ";":
            self.at += 1
        self.at += 1
        last = self.tokens[self.at - 1].line
        if not comment:
            comment, _ = self.trailing_comment(last)
        self.section = saved
        self.group, self.group_end = (comment, name, False), last
        if access == "public":
            self.add("enum", scope, name or values[0][0], f"enum {name}".strip(), comment, statement[0].line,
                     values=values)

    def finish(self, statement, scope, access, last):
        """Adds the declaration of a statement that has ended in line `last`."""
        tokens = self.plain(statement)
        texts = [token.text for token in tokens]
        if not tokens:
            return
        first = statement[0].line
        typedef = "typedef" in [token.text for token in statement]
        is_type = texts[0] in ("class", "struct", "enum", "union") and not typedef
        is_forward = is_type and "(" not in texts and len(texts) <= 6
        if texts[0] in ("friend", "static_assert", "namespace") or is_forward:
            return
        if texts[0] == "using":
            if "=" not in texts:
                return  # a name declared elsewhere
            return self.add_plain("alias", scope, access, texts[1], f"using {texts[1]}", first, last)
        if texts[0] == "concept":
            return self.add_plain("alias", scope, access, texts[1], f"concept {texts[1]}", first, last)
        if typedef:
            at = texts.index("*") + 1 if "(" in texts and "*" in texts else len(texts) - 1
            return self.add_plain("alias", scope, access, texts[at], texts[at], first, last)
        if "operator" in texts or call_at(up_to(tokens, "=")) is not None:
            return self.add_function(tokens, texts, scope, access, first, last)
        names = []
        for part in split_at_commas(tokens):
            declared = up_to(part, "=")
            words = [token.text for token in declared if token.kind == "word"]
            names += words[-1:]
        comment = self.comment_of(first, last, names[0] if names else "")
        if access == "public":
            for name in names:
                self.add("variable", scope, name, name, comment, first)

    def add_plain(self, kind, scope, access, name, form, first, last):
        comment = self.comment_of(first, last, name)
        if access == "public":
            self.add(kind, scope, name, form, comment, first)

    def add_function(self, tokens, texts, scope, access, first, last):
        if "operator" in texts:
            start = texts.index("operator") + 1
            opening = texts.index("(", start + (2 if texts[start] == "(" else 0))
            signs = tokens[start:opening]
            is_type = any(token.kind == "word" for token in signs)  # a conversion
            name = "operator" + (" " + joined(signs) if is_type else "".join(token.text for token in signs))
        else:
            opening = call_at(tokens)
            name = ("~" if texts[opening - 2:opening - 1] == ["~"] else "") + texts[opening - 1]
        end = closing(tokens, opening)
        parameters = split_at_commas(tokens[opening + 1:end])
        rest = texts[end + 1:]
        own_class = scope.rsplit("::", 1)[-1]
        only = joined(parameters[0]) if len(parameters) == 1 else ""
        copies = name == own_class and re.match(rf"(const )?{own_class}(<[^>]*>)?&", only)
        is_special = "override" in rest or rest[-2:] == ["=", "default"]
        comment = self.comment_of(first, last, name)
        if access != "public" or rest[-2:] == ["=", "delete"] or name.startswith("~") or copies or name == "operator=":
            return
        forms = ", ".join(parameter_form(one) for one in parameters if joined(one) != "void")
        form = f"operator[{forms}]" if name == "operator[]" else f"{name}({forms})"
        self.add("function", scope, name, form, comment, first, needs_comment=not is_special)


def read_header(text):
    """(title, declarations) of a header's text."""
    reader = Reader(text)
    return reader.title, reader.declarations
