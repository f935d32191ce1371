// Writes unigram_ties.json: scores whose sums are equal or nearly equal, and the tokens that Hugging Face's library
// returns for them.
//
//     npm install tokenizers@0.23.2 && node make_unigram_ties.mjs > unigram_ties.json
//
// In each case, scores read as the nearest doubles would give other tokens.
import { Tokenizer } from "tokenizers";

const kCases = 60;
let state = 12345;
const random = (limit) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * limit);
};

function tokenizer(scores) {
  const vocab = [["<unk>", "0.0"], ...scores].map(([token, score]) => `["${token}", ${score}]`);
  return Tokenizer.fromString(`{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
    "pre_tokenizer": null, "post_processor": null, "decoder": null,
    "model": {"type": "Unigram", "unk_id": 0, "byte_fallback": false, "vocab": [${vocab.join(", ")}]}}`);
}

// A negative number with up to 21 digits, more than 64 bits can hold.
function score() {
  let text = `-${random(13)}.`;
  for (let count = 14 + random(7); count > 0; count--) text += random(10);
  return text;
}

const cases = [];
while (cases.length < kCases) {
  const a = score(), b = score();
  // The sum of both, or a neighbouring double, as a JSON writer prints it.
  const sum = Number(a) + Number(b);
  const ab = String(sum * (1 + (random(3) - 1) * 2 ** -52));
  const nearest = Number(ab) >= Number(b) + Number(a) ? [3] : [1, 2];
  const scores = [["a", a], ["b", b], ["ab", ab]];
  const ids = (await tokenizer(scores).encode("ab", null)).getIds();
  if (ids.length !== nearest.length) cases.push({ scores, ids });
}
const lines = cases.map((one) => "  " + JSON.stringify(one));
console.log(`[\n${lines.join(",\n")}\n]`);
