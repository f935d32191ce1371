// Converts Markdown to elements: markdown-it finds the tokens, and every element is created here, by name. The output
// of a model is never parsed as HTML, links only to the web, and loads nothing by itself.
import MarkdownIt from "./markdown-it.js";
import { el, icon } from "./dom.js";
import { ColoredCode } from "./highlight.js";

const kMaxText = 400_000;  // of a message; longer ones are shown as plain text
const kMaxInline = 10_000;    // of a paragraph or cell: marks in it are tried in pairs
const kMaxNesting = 24;       // of lists and quotes
const kMaxCells = 20_000;  // of a table, including the empty ones that its first line implies
const kLink = /^(https?:\/\/|mailto:)/i;

const markdown = new MarkdownIt({ html: false, linkify: true, typographer: false, maxNesting: kMaxNesting });
markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
markdown.validateLink = (url) => kLink.test(url.trim());
// Definitions of link targets would change finished blocks, and take quadratic time.
markdown.block.ruler.disable("reference");

// Long lines would take quadratic time.
markdown.core.ruler.at("inline", (state) => {
  for (const token of state.tokens) {
    if (token.type !== "inline") continue;
    if (token.content.length > kMaxInline) {
      const text = new state.Token("text", "", 0);
      text.content = token.content;
      token.children = [text];
    } else {
      state.md.inline.parse(token.content, state.md, state.env, token.children);
    }
  }
});

// A table has a cell in each line for each column of its first line, written or not. The rule is tried on every line.
const tableRule = markdown.block.ruler.__rules__.find((rule) => rule.name === "table").fn;
markdown.block.ruler.at("table", (state, start, end, silent) => {
  if (start + 1 >= end || !/^[-|: \t>]+$/.test(state.src.slice(state.bMarks[start + 1], state.eMarks[start + 1]))) return false;
  const columns = state.src.slice(state.bMarks[start], state.eMarks[start]).split("|").length;
  let { from, to } = state.env.lines ?? {};
  if (!(start >= from && start < to)) {
    from = to = start;
    while (to < end && !state.isEmpty(to)) ++to;
    state.env.lines = { from, to };
  }
  return columns * (to - start) <= kMaxCells && tableRule(state, start, end, silent);
}, { alt: ["paragraph"] });

const kElements = new Map(Object.entries({
  paragraph_open: "p", blockquote_open: "blockquote", bullet_list_open: "ul", ordered_list_open: "ol",
  list_item_open: "li", table_open: "table", thead_open: "thead", tbody_open: "tbody", tr_open: "tr", th_open: "th",
  td_open: "td", em_open: "em", strong_open: "strong", s_open: "s",
}));

const codeOf = (token) => token.content.replace(/\n$/, "");
function codeBlock(token) {
  const name = token.info.trim().split(/\s/)[0];
  const code = el("code");
  token.colored = new ColoredCode(code, name.toLowerCase());
  token.colored.update(codeOf(token));
  return el("div", { class: "code" },
    el("div", { class: "code-head" }, el("span", {}, name || "text"),
      el("button", { type: "button", class: "icon", "data-do": "copy-code", "aria-label": "Copy the code", title: "Copy" }, icon("copy"))),
    el("pre", { tabindex: "0", role: "region", "aria-label": name ? name + " code" : "Code" }, code));
}

// `outline.level` is the level of the previous heading, at first that of the page's title. No level is skipped,
// whatever a model wrote.
function open(token, outline) {
  const name = kElements.get(token.type);
  if (name) {
    const element = el(name);
    // Numbers and column alignments from Markdown.
    if (name === "ol" && token.attrGet("start")) element.setAttribute("start", token.attrGet("start"));
    const align = /text-align:(left|center|right)/.exec(token.attrGet("style") ?? "")?.[1];
    if (align) element.className = "to-" + align;
    return element;
  }
  if (token.type === "heading_open") {
    const size = Number(token.tag[1]);
    outline.level = Math.min(size + 1, outline.level + 1, 6);
    return el("h" + outline.level, { class: "size-" + size });
  }
  if (token.type === "link_open") {
    return el("a", { href: token.attrGet("href"), target: "_blank", rel: "noopener noreferrer nofollow" });
  }
  return el("span");
}

// Appends the elements of the tokens to `parent`.
function build(tokens, parent, outline) {
  const stack = [parent];
  for (const token of tokens) {
    const top = stack.at(-1);
    if (token.type === "inline") build(token.children, top, outline);
    else if (token.nesting < 0) stack.pop();
    else if (token.nesting > 0) {
      const element = token.hidden ? top : open(token, outline);
      if (token.type === "table_open") top.append(el("div", { class: "table", tabindex: "0", role: "region", "aria-label": "Table" }, element));
      else if (element !== top) top.append(element);
      stack.push(element);
    } else if (token.type === "softbreak") top.append("\n");
    else if (token.type === "hardbreak") top.append(el("br"));
    else if (token.type === "hr") top.append(el("hr"));
    else if (token.type === "fence" || token.type === "code_block") top.append(codeBlock(token));
    else if (token.type === "code_inline") top.append(el("code", {}, token.content));
    else if (token.type === "image") {
      // Loading a picture would tell its server what the user reads.
      const url = token.attrGet("src");
      top.append(el("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, token.content || url));
    } else if (token.content) top.append(token.content);
  }
}

const plain = (text) => el("div", { class: "plain" }, text);

// Returns the blocks of a text: their first lines and their tokens.
function blocksOf(text) {
  const blocks = [];
  for (const token of markdown.parse(text, {})) {
    if (token.level === 0 && token.nesting >= 0 && token.map) blocks.push({ line: token.map[0], tokens: [] });
    blocks.at(-1)?.tokens.push(token);
  }
  return blocks;
}

function elementOf(block, text, outline) {
  // The parser cuts off deeper nesting.
  if (block.tokens.some((token) => token.level >= kMaxNesting - 1)) return plain(text);
  const holder = document.createDocumentFragment();
  build(block.tokens, holder, outline);
  return holder;
}

const lineStarts = (text) => {
  const starts = [0];
  for (const match of text.matchAll(/\r\n?|\n/g)) starts.push(match.index + match[0].length);
  return starts;
};

// A growing text, shown in `target`. Finished blocks are kept; only the last one is parsed again.
export class GrowingMarkdown {
  #target;
  #text = "";
  #done = 0;  // blocks before this are finished
  #outline = { level: 1 };
  #open = null;  // the element of the rest
  #code = null;  // the code token, if the rest is only code

  constructor(target) {
    this.#target = target;
    target.replaceChildren();
  }

  // The text so far; it begins with the text of the previous call.
  update(text) {
    this.#text = text;
    if (text.length > kMaxText) return this.#target.replaceChildren(plain(text));
    const rest = text.slice(this.#done);
    const blocks = blocksOf(rest);
    const starts = lineStarts(rest);
    // A block is finished when two whole lines of the next block follow: these decide where that begins.
    let finished = 0;
    while (finished + 1 < blocks.length && blocks[finished + 1].line + 2 < starts.length) ++finished;
    const [last, more] = finished + 1 === blocks.length ? blocks[finished].tokens : [];
    const code = last?.type === "fence" && !more ? last : null;
    if (code && this.#code && finished === 0 && code.info === this.#code.info) return this.#code.colored.update(codeOf(code));
    this.#code = code;
    this.#open?.remove();
    const end = (index) => (index < blocks.length ? starts[blocks[index].line] : rest.length);
    const place = (index, target, outline) => target.append(elementOf(blocks[index], rest.slice(end(index), end(index + 1)), outline));
    for (let index = 0; index < finished; ++index) place(index, this.#target, this.#outline);
    if (finished > 0) this.#done += end(finished);
    this.#open = el("div", { class: "open" });
    const outline = { ...this.#outline };
    for (let index = finished; index < blocks.length; ++index) place(index, this.#open, outline);
    this.#target.append(this.#open);
  }

  // Ends the text: the result equals that of rendering it at once.
  finish() {
    if (this.#text.length > kMaxText) return render(this.#text, this.#target);
    this.#open?.replaceWith(...this.#open.childNodes);
  }
}

export function render(text, target) {
  target.replaceChildren();
  if (text.length > kMaxText) return target.append(plain(text));
  const blocks = blocksOf(text);
  const starts = lineStarts(text);
  const outline = { level: 1 };
  for (const [index, block] of blocks.entries()) {
    const end = index + 1 < blocks.length ? starts[blocks[index + 1].line] : text.length;
    target.append(elementOf(block, text.slice(starts[block.line], end), outline));
  }
}
