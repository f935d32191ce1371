// node ops.mjs [options]: compares pippin predict with ONNX Runtime, alternately, on the same nets with random weights.
// See README.md.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus, loadavg, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { MilWriter } from "./mil.mjs";
import { Net } from "./nets/net.mjs";
import * as sound from "./nets/sound.mjs";
import * as text from "./nets/text.mjs";
import * as vision from "./nets/vision.mjs";
import { OnnxWriter } from "./onnx.mjs";
import { readArrays, writeArrays } from "./npz.mjs";
import { difference, median } from "./statistics.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));

const NETS = {
  superpoint: vision.superpoint, yunet: vision.yunet, "basic-pitch": sound.basicPitch, resnet50: vision.resnet50,
  "mobilenet-v2": vision.mobilenetV2, "mobilenet-v3": vision.mobilenetV3, "efficientnet-lite0": vision.efficientnetLite,
  yolov8n: vision.yoloV8n, yolo11n: vision.yolo11n, unet: vision.unet, "whisper-encoder": sound.whisperEncoder,
  "whisper-decoder-step": sound.whisperDecoderStep, "clip-vit-b32": vision.clip, "smolvlm-tower": vision.smolvlmTower,
  conformer: sound.conformer, lstm: sound.lstm, generator: vision.generator,
  "bge-small": text.bgeSmall, "bge-base": text.bgeBase,
};
// The package's form; ONNX Runtime computes the first two in fp32, with the same weights. `noise`: the allowed
// difference from its results, relative to the largest output, for other orders of arithmetic, fp16 activations, or
// rounding to 8 bits at every product, where the last bit matters. YuNet's 8-bit outputs change by 0.19 when the
// reference sums in floats instead of doubles.
const FORMS = {
  fp32: { type: "fp32", noise: 1e-3 },
  fp16: { type: "fp16", noise: 5e-3 },
  w8a8: { type: "fp32", int8: true, noise: 0.4 },
};

const { values: given } = parseArgs({
  options: {
    pippin: { type: "string", default: path.join(here, "../../build/release/pippin/cli/pippin") },
    nets: { type: "string", default: Object.keys(NETS).join(",") },
    form: { type: "string", default: "fp32" },
    precision: { type: "string", default: "fast" },
    threads: { type: "string", short: "t", default: "2" },
    rounds: { type: "string", short: "r", default: "3" },
    seconds: { type: "string", default: "0.5" },
    onnxruntime: { type: "string", default: "onnxruntime-node" },
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
const form = FORMS[given.form];
if (!form) throw new Error(`--form ${given.form}: one of ${Object.keys(FORMS).join(", ")}`);
function positive(name) {
  const value = Number(given[name]);
  if (!(value > 0)) throw new Error(`--${name}: ${given[name]}`);
  return value;
}
const threads = positive("threads"), rounds = positive("rounds"), seconds = positive("seconds");
const ort = createRequire(import.meta.url)(given.onnxruntime);

class Peers {
  constructor(name) {
    this.net = NETS[name](new Net(name, form));
    this.base = path.join(given.folder, `${name}-${given.form}`);
    new MilWriter(this.net, form.type).save(`${this.base}.mlmodelc`);
    new OnnxWriter(this.net).save(`${this.base}.onnx`);
    this.inputs = Object.fromEntries(this.net.inputs.map(({ name: input, shape }) =>
      [input, { shape, array: this.net.uniform(shape.reduce((a, b) => a * b, 1), 1) }]));
    writeArrays(`${this.base}.npz`, this.inputs);
  }
  async open() {
    const open = (level) => ort.InferenceSession.create(`${this.base}.onnx`, {
      intraOpNumThreads: threads, interOpNumThreads: 1, graphOptimizationLevel: level,
    });
    this.session = await open("all");
    this.feeds = Object.fromEntries(Object.entries(this.inputs).map(([name, { shape, array }]) =>
      [name, new ort.Tensor("float32", array, shape)]));
    // Fused 8-bit operations round elsewhere than the graph says, so compare with the unfused graph.
    const plain = form.int8 ? await open("disabled") : this.session;
    const results = await plain.run(this.feeds);
    if (plain !== this.session) await plain.release();
    this.wanted = Object.fromEntries(Object.entries(results).map(([name, tensor]) => [name, tensor.data]));
    this.milliseconds = await this.onnxruntime(1);
    this.pippin(1, ["--output", `${this.base}.out.npz`]);
    this.apart = difference(readArrays(`${this.base}.out.npz`), this.wanted);
  }
  // Returns the median of several runs, in milliseconds.
  async onnxruntime(count) {
    const times = [];
    for (let i = 0; i < count; ++i) {
      const begin = performance.now();
      await this.session.run(this.feeds);
      times.push(performance.now() - begin);
    }
    return median(times);
  }
  pippin(count, more = []) {
    const text = execFileSync(given.pippin, ["predict", `${this.base}.mlmodelc`, "--input", `${this.base}.npz`, "--threads",
                                             `${threads}`, "--precision", given.precision, "--repeat", `${count + 1}`,
                                             ...(more.length ? more : ["--json"])],
                              { encoding: "utf8", maxBuffer: 1 << 30, stdio: ["ignore", "pipe", "pipe"] });
    return more.length ? null : JSON.parse(text).timings.median_seconds * 1000;
  }
  async compare() {
    const count = Math.max(2, Math.min(200, Math.round((seconds * 1000) / this.milliseconds)));
    const samples = [];
    for (let i = 0; i < rounds; ++i) {
      const theirs = await this.onnxruntime(count);
      samples.push({ pippin: this.pippin(count), onnxruntime: theirs });
    }
    return samples;
  }
}

mkdirSync(given.folder, { recursive: true });
console.log(`${cpus()[0].model}, ${threads} threads, load ${loadavg()[0].toFixed(1)}, ${given.form}, ${given.precision}`);
console.log("net                     pippin ms   onnxruntime ms   ratio   apart");
const report = { date: new Date().toISOString(), processor: cpus()[0].model, threads, form: given.form, nets: {} };
let failed = false;
for (const name of given.nets.split(",")) {
  if (!NETS[name]) throw new Error(`--nets ${name}: some of ${Object.keys(NETS).join(", ")}`);
  const peers = new Peers(name);
  await peers.open();
  const samples = await peers.compare();
  const ratio = median(samples.map((sample) => sample.onnxruntime / sample.pippin));
  const [ours, theirs] = ["pippin", "onnxruntime"].map((who) => median(samples.map((sample) => sample[who])));
  const agrees = peers.apart <= form.noise;
  failed ||= !agrees;
  report.nets[name] = { pippin_ms: ours, onnxruntime_ms: theirs, ratio, apart: peers.apart, samples };
  console.log(`${name.padEnd(22)} ${ours.toFixed(2).padStart(10)} ${theirs.toFixed(2).padStart(16)} ` +
              `${ratio.toFixed(2).padStart(7)}   ${peers.apart.toExponential(1)}${agrees ? "" : "  TOO FAR"}`);
  await peers.session.release();
  if (!given.keep) for (const end of [".mlmodelc", ".onnx", ".npz", ".out.npz"]) rmSync(peers.base + end, { recursive: true, force: true });
}
const ratios = Object.values(report.nets).map(({ ratio }) => ratio);
report.mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
report.worst = Math.min(...ratios);
console.log(`geometric mean ${report.mean.toFixed(2)}, worst ${report.worst.toFixed(2)}`);
if (given.json) writeFileSync(given.json, JSON.stringify(report, null, 2) + "\n");
process.exitCode = failed ? 1 : 0;
