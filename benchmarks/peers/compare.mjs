// node compare.mjs [options]: compares pippin bench with llama.cpp, alternately, on models of the same shape and bits
// with random weights. See README.md.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { weightBytes, writeGguf } from "./gguf.mjs";
import { median } from "./statistics.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));

// Equivalent forms: the type of the GGUF file and the options of pippin convert.
const FORMS = {
  int4: { type: "q4_0", options: ["--quantize", "int4", "--per", "block:32"] },
  palette4: { type: "q4_0", options: ["--palettize", "4", "--group", "16"] },
  palette6: { type: "q6_k", options: ["--palettize", "6", "--group", "16"] },
  int8: { type: "q8_0", options: ["--quantize", "int8", "--per", "block:32"] },
  f16: { type: "f16", options: [] },
  // Both run the same file.
  "gguf-q4_0": { type: "q4_0" },
  "gguf-q4_k": { type: "q4_k" },
  "gguf-q6_k": { type: "q6_k" },
  "gguf-q8_0": { type: "q8_0" },
};

const { values: given } = parseArgs({
  options: {
    pippin: { type: "string", default: path.join(here, "../../build/release/pippin/cli/pippin") },
    shape: { type: "string", default: "llama-160m" },
    form: { type: "string", default: "int4" },
    family: { type: "string", default: "stateful" },
    threads: { type: "string", short: "t", default: "" },
    "n-prompt": { type: "string", short: "p", default: "512" },
    "n-gen": { type: "string", short: "n", default: "64" },
    "n-depth": { type: "string", short: "d", default: "0" },
    parallel: { type: "string", default: "1" },
    rounds: { type: "string", short: "r", default: "5" },
    context: { type: "string", default: "2048" },
    "llama-bench": { type: "string" },
    "flash-attention": { type: "string", default: "auto" },
    folder: { type: "string", default: path.join(tmpdir(), "pippin-peers") },
    keep: { type: "boolean", default: false },
    json: { type: "string" },
    help: { type: "boolean", short: "h", default: false },
  },
});

if (given.help) {
  console.log(readFileSync(path.join(here, "README.md"), "utf8"));
  process.exit(0);
}

function number(name, text, least = 0) {
  const value = Number(text);
  if (!Number.isInteger(value) || value < least) throw new Error(`--${name}: ${text}`);
  return value;
}
const list = (name) => given[name].split(",").map((one) => number(name, one));

// Ids that are valid for both; their values do not affect the time.
function randomIds(count, vocabulary, state = 12345) {
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * vocabulary);
  });
}

const form = FORMS[given.form];
if (!form) throw new Error(`--form ${given.form}: one of ${Object.keys(FORMS).join(", ")}`);
const shapeFile = existsSync(given.shape) ? given.shape
                                          : path.join(here, "shapes", given.shape + ".json");
const config = JSON.parse(readFileSync(shapeFile, "utf8"));
const threads = given.threads === "" ? cpus().length : number("threads", given.threads, 1);
const context = number("context", given.context, 1);
const prompts = list("n-prompt").filter((one) => one > 0);
const depths = list("n-depth");
const parallel = given.parallel.split(",").map((one) => number("parallel", one, 1));
const tokens = number("n-gen", given["n-gen"]);
const rounds = number("rounds", given.rounds, 1);
const cases = [
  ...prompts.map((length) => ({ name: `pp${length}`, prompt: length })),
  ...(tokens > 0 ? depths : []).flatMap((depth) => parallel.map((sequences) => ({
    name: `tg${tokens}${depth > 0 ? ` @ d${depth}` : ""}${sequences > 1 ? ` x${sequences}` : ""}`,
    depth, sequences,
  }))),
];
for (const one of cases) {
  const needed = one.prompt ?? one.depth + tokens;
  if (needed > context) throw new Error(`${one.name} needs a context of ${needed}, not ${context}`);
}

mkdirSync(given.folder, { recursive: true });
const stem = `${path.basename(shapeFile, ".json")}-${given.form}`;
const gguf = path.join(given.folder, `${path.basename(shapeFile, ".json")}-${form.type}.gguf`);
const packagePath = form.options === undefined ? gguf : path.join(
  given.folder, given.family === "stateful" ? `${stem}-${context}.mlpackage` : `${stem}-${context}-${given.family}`);
const made = [];
if (!existsSync(gguf)) {
  made.push(gguf);
  console.error(`writing ${gguf}`);
  writeGguf(gguf, config, form.type);
}
if (!existsSync(packagePath)) {
  made.push(packagePath);
  console.error(`writing ${packagePath}`);
  execFileSync(given.pippin, ["convert", "--random-weights", shapeFile, "-o", packagePath,
                              "--context", String(context), "--family", given.family,
                              ...form.options, "--json"], { stdio: ["ignore", "ignore", "inherit"] });
}

// llama.cpp's own program, started for each sample; it warms up before it measures.
class LlamaBench {
  constructor(command) {
    this.command = command.split(" ");
    this.info = { release: "" };
  }
  bench(one) {
    const sizes = one.prompt ? ["-p", one.prompt, "-n", 0] : ["-p", 0, "-n", tokens, "-d", one.depth];
    const [program, ...first] = this.command;
    const text = execFileSync(program, [
      ...first, "-m", gguf, "-r", 1, "-t", threads, ...sizes, "-fa", given["flash-attention"], "-o", "json",
    ].map(String), { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    const [result] = JSON.parse(text);
    this.info = { release: `${result.build_number} (${result.build_commit})` };
    return result.avg_ts;
  }
  dispose() {}
}

// One sample of every case, with its readings.
function runPippin() {
  const text = execFileSync(given.pippin, [
    "bench", packagePath, "--json", "-r", "1", "-t", String(threads), "-n", String(tokens),
    "-p", prompts.length > 0 ? prompts.join(",") : "0", "-d", depths.join(","),
    "--parallel", parallel.join(","),
  ], { encoding: "utf8", maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] });
  return JSON.parse(text);
}

const vocabulary = config.vocab_size;
if (given["llama-bench"] && Math.max(...parallel) > 1) throw new Error("--llama-bench: with --parallel 1 only");
const llama = given["llama-bench"] ? new LlamaBench(given["llama-bench"]) : await loadLibrary();

async function loadLibrary() {
  const { LlamaCpp } = await import("./llama_cpp.mjs");
  return LlamaCpp.load(gguf, {
    threads, context, sequences: Math.max(...parallel),
    flashAttention: given["flash-attention"] === "auto" ? "auto" : given["flash-attention"] === "on",
  });
}
async function runLlama(one) {
  if (llama.bench) return llama.bench(one);
  if (one.prompt) return one.prompt / (await llama.prefill(randomIds(one.prompt, vocabulary)));
  return (tokens * one.sequences) / (await llama.decode(
    randomIds(tokens, vocabulary), randomIds(one.depth, vocabulary, 777), one.sequences));
}

if (!llama.bench) for (const one of cases) await runLlama(one); // warm-up
const load = loadavg()[0];
const samples = cases.map(() => ({ pippin: [], llama: [], pippinRead: [], llamaRead: [] }));
const readings = [], peaks = [];
let last = null, report = null, pending = [];
for (let round = 0; round <= rounds; ++round) {
  // llama.cpp's samples of a round are between two runs of pippin, so their reading is the average of the last one of
  // the first run and the first one of the second.
  report = runPippin();
  const first = report.readings[0].bytes_per_second;
  pending.forEach((index) => samples[index].llamaRead.push((last + first) / 2));
  pending = [];
  for (const reading of report.readings) {
    readings.push(reading.bytes_per_second);
    peaks.push(reading.int8_operations_per_second);
  }
  last = report.readings.at(-1).bytes_per_second;
  if (round === rounds) break; // only for its readings
  report.results.forEach((result, index) => {
    samples[index].pippin.push(result.median_tokens_per_second);
    samples[index].pippinRead.push(result.median_bytes_per_second);
  });
  for (let index = 0; index < cases.length; ++index) {
    samples[index].llama.push(await runLlama(cases[index]));
    pending.push(index);
  }
  console.error(`round ${round + 1} of ${rounds}`);
}
const info = llama.info;
await llama.dispose();

const peerBytes = weightBytes(config, form.type);
const cacheBytes = (result) =>
  result.bytes_per_token - report.weight_bytes_per_token / result.n_parallel;
const rows = cases.map((one, index) => {
  const { pippin, llama: peer, pippinRead, llamaRead } = samples[index];
  const result = report.results[index];
  const share = (speeds, bytes, reads) => median(speeds.map((speed, i) => (speed * bytes) / reads[i]));
  const decode = one.prompt === undefined;
  // The peer's cache is fp16, too.
  return {
    test: one.name,
    pippin: median(pippin), llama_cpp: median(peer),
    ratio: median(pippin.map((speed, i) => speed / peer[i])),
    // For decodes, the ratio of the speeds divided by the bandwidth at that moment.
    ratio_by_bandwidth: decode
      ? median(pippin.map((speed, i) => speed / pippinRead[i] / (peer[i] / llamaRead[i]))) : null,
    pippin_share: decode ? share(pippin, result.bytes_per_token, pippinRead) 
                         : median(pippin) * result.operations_per_token / median(peaks),
    llama_cpp_share: decode ? share(peer, peerBytes / one.sequences + cacheBytes(result), llamaRead)
                            : median(peer) * result.operations_per_token / median(peaks),
    samples: samples[index],
  };
});

const commit = (() => {
  try {
    return execFileSync("git", ["-C", here, "describe", "--always", "--dirty"], { encoding: "utf8" }).trim();
  } catch {
    return "unknown";
  }
})();
const giga = (value) => (value / 1e9).toFixed(1);
// Empty if the limit is unknown: some processors have no kernel that measures the int8 peak.
const percent = (value) =>
  value > 0 && Number.isFinite(value) ? `${(value * 100).toFixed(1)} %` : "";
console.log(`${new Date().toISOString().slice(0, 10)}, pippin ${commit}, llama.cpp ${info.release ?? ""}` +
  (llama.bench ? "" : ` (node-llama-cpp ${JSON.parse(readFileSync(path.join(here, "node_modules/node-llama-cpp/package.json"), "utf8")).version})`));
console.log(`${report.cpu}, ${threads} threads, load average ${load.toFixed(1)} to ${loadavg()[0].toFixed(1)}; ` +
  `${stem}, ${given.family}, context ${context}, ${rounds} rounds`);
console.log(`read ${giga(median(readings))} GB/s (${giga(Math.min(...readings))} to ${giga(Math.max(...readings))}), ` +
  `int8 peak ${giga(median(peaks))} GOP/s; weights for a token: pippin ${(report.weight_bytes_per_token / 1e6).toFixed(1)} MB, ` +
  `llama.cpp ${(peerBytes / 1e6).toFixed(1)} MB; file ${(statSync(gguf).size / 1e6).toFixed(1)} MB\n`);
console.log("| test | pippin t/s | llama.cpp t/s | ratio | ratio by bandwidth | pippin of the limit | llama.cpp of the limit |");
console.log("| --- | --- | --- | --- | --- | --- | --- |");
for (const row of rows) {
  console.log(`| ${row.test} | ${row.pippin.toFixed(2)} | ${row.llama_cpp.toFixed(2)} | ${row.ratio.toFixed(2)} | ` +
    `${row.ratio_by_bandwidth?.toFixed(2) ?? ""} | ${percent(row.pippin_share)} | ${percent(row.llama_cpp_share)} |`);
}
if (given.json) {
  writeFileSync(given.json, JSON.stringify({ commit, info, shape: shapeFile, form: given.form, threads, context, readings, peaks, rows, report }, null, 1));
}
if (!given.keep) for (const one of made) rmSync(one, { recursive: true });
