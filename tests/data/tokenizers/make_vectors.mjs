// Computes ids of strings with Hugging Face's tokenizers library and the tokenizers of make_tokenizers.py.
//
//   node make_vectors.mjs STRINGS.json OUT    reads OUT/tokenizers/NAME, writes OUT/vectors/hf-rust/NAME.json
//
// The npm package "tokenizers" (TOKENIZERS names its folder if it is not found otherwise) is the library itself.
import { createRequire } from "node:module";
import fs from "node:fs";
import path from "node:path";

const require = createRequire(path.join(process.env.TOKENIZERS ?? process.cwd(), "x.js"));
const { Tokenizer } = require("tokenizers");
const { version } = require("tokenizers/package.json");
const STREAMED = [
  "Hello, 世界! 😀 café — ok",
  "  Two  spaces,\n\na tab\tand 12345 digits: don't stop.",
  "naïve Ελληνικά Русский 🇩🇪 👩‍👩‍👧 <0x41> end",
];

// The same numbers in every run.
function numbers(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

async function vectors(name, file, strings) {
  const tokenizer = Tokenizer.fromFile(file);
  const size = tokenizer.getVocabSize(true);
  const ids = async (text, special) => (await tokenizer.encode(text, null, { addSpecialTokens: special })).getIds();
  const encode = [];
  for (const text of strings) {
    const all = await ids(text, true);
    const plain = await ids(text, false);
    encode.push({
      text,
      ids: all,
      ids_no_special: plain,
      decoded: await tokenizer.decode(plain, false),
      decoded_skip_special: await tokenizer.decode(all, true),
    });
  }
  const random = numbers(2026);
  const decode = [];
  for (let i = 0; i < 150; ++i) {
    const list = Array.from({ length: 1 + random(12) }, () => random(size));
    decode.push({ ids: list, decoded: await tokenizer.decode(list, false), decoded_skip_special: await tokenizer.decode(list, true) });
  }
  const stream = [];
  for (const text of STREAMED) {
    const list = await ids(text, false);
    const prefixes = [];
    for (let i = 1; i <= list.length; ++i) prefixes.push(await tokenizer.decode(list.slice(0, i), true));
    stream.push({ text, ids: list, prefix_decodes: prefixes });
  }
  return { tokenizer: name, oracle: `Hugging Face tokenizers ${version}`, vocab_size_with_added: size, encode, decode, stream };
}

const [stringsFile, out] = process.argv.slice(2);
const strings = JSON.parse(fs.readFileSync(stringsFile, "utf8"));
const folder = path.join(out, "vectors/hf-rust");
fs.mkdirSync(folder, { recursive: true });
for (const name of fs.readdirSync(path.join(out, "tokenizers")).sort()) {
  const found = await vectors(name, path.join(out, "tokenizers", name, "tokenizer.json"), strings);
  fs.writeFileSync(path.join(folder, `${name}.json`), JSON.stringify(found));
}
