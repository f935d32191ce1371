// Syntax colours for code: comments, strings, numbers and the keywords that most languages share. One pass over any
// text.

const kMaxCode = 100_000;
const kHash = "(?<comment>#[^\\n]*)";
const kSlash = "(?<comment>\\/\\/[^\\n]*|\\/\\*[^]*?(?:\\*\\/|$))";
const kDash = "(?<comment>--[^\\n]*|\\/\\*[^]*?(?:\\*\\/|$))";
const kQuotes = `(?<text>"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|"(?:\\\\.|[^"\\\\\\n])*"?|'(?:\\\\.|[^'\\\\\\n])*'?|\`(?:\\\\.|[^\`\\\\])*\`?)`;
const kRest = "(?<number>\\b\\d[\\w.]*)|(?<word>[A-Za-z_]\\w*)";

const kLanguages = new Map();
function language(names, comment) {
  const pattern = new RegExp([comment, kQuotes, kRest].join("|"), "g");
  for (const name of names.split(" ")) kLanguages.set(name, pattern);
}
language("python py bash sh shell zsh yaml yml toml ruby rb perl r makefile cmake dockerfile", kHash);
language("c cpp c++ cc h hpp java javascript js jsx mjs typescript ts tsx go rust rs swift kotlin kt cs csharp scala php css json jsonc dart zig", kSlash);
language("sql lua haskell hs", kDash);

const kWords = new Set((
  "abstract and as assert async auto await begin bool boolean break case catch char class const constexpr continue def default " +
  "del do done double elif else end enum esac except export extends extern false fi final finally float fn for from func " +
  "function global if impl implements import in include inline int interface is lambda let local long match mod module mut " +
  "namespace new nil none not null nullptr of operator or package pass private protected pub public raise return self short " +
  "signed sizeof static string struct super switch template then this throw throws trait true try type typedef typename union " +
  "unsigned use using var virtual void volatile where while with yield select insert update delete create table drop alter " +
  "values into set join left right inner outer on group order by having limit distinct primary key").split(" "));

function kindOf({ comment, text, number, word }, name) {
  if (comment) return "comment";
  if (text) return "quoted";
  if (number) return "number";
  return kWords.has(name === "sql" ? word.toLowerCase() : word) ? "word" : "";
}

// Code in an element, which may grow. Colours before the last mark are final: only the rest is scanned again.
export class ColoredCode {
  #code;
  #name;
  #done = 0;  // everything before this is final
  #kept = 0;  // child nodes before that place

  constructor(code, name) {
    this.#code = code;
    this.#name = name;
  }

  // The code so far; it begins with the code of the previous call.
  update(text) {
    const pattern = kLanguages.get(this.#name);
    if (!pattern || text.length > kMaxCode) return this.#code.replaceChildren(text);
    while (this.#code.childNodes.length > this.#kept) this.#code.lastChild.remove();
    let at = this.#done;
    pattern.lastIndex = at;
    for (const match of text.matchAll(pattern)) {
      const kind = kindOf(match.groups, this.#name);
      if (match.index > at && kind) this.#code.append(text.slice(at, match.index));
      if (!kind) continue;
      [this.#done, this.#kept] = [match.index, this.#code.childNodes.length];
      const span = document.createElement("span");
      span.className = "c-" + kind;
      span.textContent = match[0];
      this.#code.append(span);
      at = match.index + match[0].length;
    }
    if (at < text.length) this.#code.append(text.slice(at));
  }
}
