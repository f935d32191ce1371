// Compares Pippin with Hugging Face's Rust library, alternately, on a text: README.md.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

process.env.TOKENIZERS_PARALLELISM = "false";
process.env.RAYON_NUM_THREADS = "1";
const { Tokenizer } = (await import("tokenizers")).default;

const here = path.dirname(fileURLToPath(import.meta.url));
const { values: options } = parseArgs({
  options: {
    tokenizer: { type: "string" },
    text: { type: "string" },
    document: { type: "string", default: "4096" },
    rounds: { type: "string", short: "r", default: "5" },
    pippin: { type: "string", default: path.join(here, "../../build/release/benchmarks/pippin-tokenizer-speed") },
    json: { type: "string" },
  },
});
if (!options.tokenizer || !options.text) {
  console.error("usage: node compare.mjs --tokenizer FOLDER --text FILE");
  process.exit(2);
}

const file = path.join(options.tokenizer, "tokenizer.json");
const bytes = readFileSync(options.text);

// Cuts the text as tokenizer_speed.cpp does.
function cut(bytes, size) {
  const documents = [];
  for (let begin = 0; begin < bytes.length; ) {
    const lineEnd = bytes.indexOf(10, Math.min(bytes.length, begin + size));
    const end = lineEnd < 0 ? bytes.length : lineEnd + 1;
    documents.push(bytes.subarray(begin, end).toString("utf8"));
    begin = end;
  }
  return documents;
}

const addTo = (hash, value) => Math.imul(hash ^ value, 16777619);
const emptyHash = 2166136261 | 0;

async function measure(work) {
  const before = process.cpuUsage();
  const start = performance.now();
  const result = await work();
  const clock = (performance.now() - start) / 1000;
  const used = process.cpuUsage(before);
  return { result, processor: (used.user + used.system) / 1e6, clock };
}

class Library {
  constructor(documents) {
    this.documents = documents;
    this.tokenizer = Tokenizer.fromFile(file);
  }

  async load() {
    const { processor, clock } = await measure(() => Tokenizer.fromFile(file));
    return { processor, clock };
  }

  async encode() {
    const { result, processor, clock } = await measure(async () => {
      const encodings = [];
      for (const text of this.documents) {
        encodings.push(await this.tokenizer.encode(text, null, { addSpecialTokens: false }));
      }
      return encodings;
    });
    this.ids = result.map((encoding) => Array.from(encoding.getIds()));
    let hash = emptyHash, count = 0;
    for (const ids of this.ids) {
      count += ids.length;
      for (const id of ids) hash = addTo(hash, id);
    }
    return { processor, clock, count, hash: hash >>> 0 };
  }

  async decode() {
    const decodeAll = async (lists) => {
      const texts = [];
      for (const ids of lists) texts.push(await this.tokenizer.decode(ids, false));
      return texts;
    };
    const nothing = this.ids.map((ids) => ids.map(() => 0x7fffffff));
    const call = await measure(() => decodeAll(nothing));
    const { result, processor, clock } = await measure(() => decodeAll(this.ids));
    let hash = emptyHash, count = 0;
    for (const text of result) {
      const encoded = Buffer.from(text, "utf8");
      count += encoded.length;
      for (const byte of encoded) hash = addTo(hash, byte);
    }
    return { processor: processor - call.processor, clock: clock - call.clock, call: call.processor, count, hash: hash >>> 0 };
  }
}

class Pippin {
  constructor() {
    this.child = spawn(options.pippin, [file, options.text, options.document], { stdio: ["pipe", "pipe", "inherit"] });
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
  }

  async ask(command) {
    this.child.stdin.write(command + "\n");
    const { value, done } = await this.lines.next();
    if (done) throw new Error("pippin-tokenizer-speed ended");
    return JSON.parse(value);
  }

  end() {
    this.child.stdin.end();
  }
}

const median = (list) => {
  const sorted = [...list].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};

const samples = { load: [], encode: [], decode: [] };
const library = new Library(cut(bytes, Number(options.document)));
const pippin = new Pippin();
for (let round = 0; round < Number(options.rounds); ++round) {
  for (const step of ["load", "encode", "decode"]) {
    const pair = round % 2 ? [await library[step](), await pippin.ask(step)].reverse() : [await pippin.ask(step), await library[step]()];
    const [ours, theirs] = pair;
    if (step !== "load" && (ours.count !== theirs.count || ours.hash !== theirs.hash)) {
      console.error(`${step}: not the same: ${JSON.stringify(ours)} and ${JSON.stringify(theirs)}`);
      process.exit(1);
    }
    samples[step].push({ ours, theirs });
  }
}
pippin.end();

const megabytes = bytes.length / 1e6;
console.log(`${file}: ${megabytes.toFixed(2)} MB, ${library.documents.length} documents, ${samples.encode[0].ours.count} ids, ` +
            `${options.rounds} rounds; milliseconds of the processor, medians\n`);
console.log("| | Pippin | library | ratio (lowest, highest) | Pippin, MB/s |\n|---|---|---|---|---|");
for (const [step, rounds] of Object.entries(samples)) {
  const ours = median(rounds.map((one) => one.ours.processor)), theirs = median(rounds.map((one) => one.theirs.processor));
  const ratios = rounds.map((one) => one.theirs.processor / one.ours.processor);
  const rate = step === "load" ? "" : (megabytes / ours).toFixed(1);
  console.log(`| ${step} | ${(ours * 1000).toFixed(1)} | ${(theirs * 1000).toFixed(1)} | ${median(ratios).toFixed(2)} ` +
              `(${Math.min(...ratios).toFixed(2)}, ${Math.max(...ratios).toFixed(2)}) | ${rate} |`);
}
if (options.json) writeFileSync(options.json, JSON.stringify({ options, samples }, null, 1));
