// Colours for code: comments, texts, numbers and words that most languages share. One pass, whatever the text.

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

// Texts and elements, in their order.
export function colored(text, name) {
  const pattern = kLanguages.get(name);
  if (!pattern || text.length > kMaxCode) return [text];
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    const { comment, text: quoted, number, word } = match.groups;
    const kind = comment ? "comment" : quoted ? "quoted" : number ? "number" : kWords.has(name === "sql" ? word.toLowerCase() : word) ? "word" : "";
    if (!kind) continue;
    if (match.index > at) parts.push(text.slice(at, match.index));
    const span = document.createElement("span");
    span.className = "c-" + kind;
    span.textContent = match[0];
    parts.push(span);
    at = match.index + match[0].length;
  }
  if (at < text.length) parts.push(text.slice(at));
  return parts;
}
