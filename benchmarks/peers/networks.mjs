// node networks.mjs [options]: compares the time of pippin predict for a neural network (.mlmodel) and for the same net
// as an ML Program, alternately. See README.md.

import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

import { MilWriter } from "./mil.mjs";
import { Net } from "./nets/net.mjs";
import * as vision from "./nets/vision.mjs";
import { NetworkWriter } from "./network.mjs";
import { readArrays, writeArrays } from "./npz.mjs";
import { difference, median } from "./statistics.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const NETS = { "mobilenet-v1": vision.mobilenetV1, "mobilenet-v2": vision.mobilenetV2, resnet50: vision.resnet50,
               "tiny-yolo": vision.tinyYolo };
const FORMS = { plain: {}, norms: { norms: true } };
const NOISE = 1e-4;  // of the largest output: norms are folded in another order

const { values: given } = parseArgs({
  options: {
    pippin: { type: "string", default: path.join(here, "../../build/release/pippin/cli/pippin") },
    nets: { type: "string", default: Object.keys(NETS).join(",") },
    forms: { type: "string", default: Object.keys(FORMS).join(",") },
    precision: { type: "string", default: "fast" },
    threads: { type: "string", short: "t", default: "2" },
    rounds: { type: "string", short: "r", default: "9" },
    seconds: { type: "string", default: "0.5" },
    folder: { type: "string", default: path.join(tmpdir(), "pippin-networks") },
    keep: { type: "boolean", default: false },
    json: { type: "string" },
  },
});
for (const [option, known] of [["nets", NETS], ["forms", FORMS]]) {
  for (const name of given[option].split(",")) {
    if (!known[name]) throw new Error(`--${option} ${name}: some of ${Object.keys(known).join(", ")}`);
  }
}

function predict(model, input, more) {
  const text = execFileSync(given.pippin, ["predict", model, "--input", input, "--threads", given.threads, "--precision",
                                           given.precision, ...more], { encoding: "utf8", maxBuffer: 1 << 30 });
  return more.includes("--json") ? JSON.parse(text).timings.median_seconds * 1000 : text;
}

function compare(name, form) {
  const base = path.join(given.folder, `${name}-${form}`);
  const net = NETS[name](new Net(name));
  const files = { program: [`${base}.mlmodelc`, `${base}.npz`], network: [`${base}.mlmodel`, `${base}.network.npz`] };
  new MilWriter(net, "fp32").save(files.program[0]);
  const [{ name: input, shape }] = net.inputs;
  const array = net.uniform(shape.reduce((product, size) => product * size, 1), 1);
  writeArrays(files.program[1], { [input]: { shape, array } });
  writeArrays(files.network[1], { [input]: { shape: shape.slice(1), array } });
  new NetworkWriter(net, FORMS[form]).save(files.network[0]);
  const outputs = Object.values(files).map(([model, arrays]) => {
    predict(model, arrays, ["--output", `${base}.out.npz`]);
    return readArrays(`${base}.out.npz`);
  });
  const apart = difference(outputs[1], outputs[0]);
  const once = predict(...files.program, ["--repeat", "2", "--json"]);
  const count = Math.max(2, Math.min(200, Math.round((Number(given.seconds) * 1000) / once)));
  const samples = Array.from({ length: Number(given.rounds) }, () => Object.fromEntries(
    Object.entries(files).map(([kind, file]) => [kind, predict(...file, ["--repeat", `${count + 1}`, "--json"])])));
  if (!given.keep) {
    for (const end of [".mlmodelc", ".npz", ".mlmodel", ".network.npz", ".out.npz"]) rmSync(base + end, { recursive: true, force: true });
  }
  const of = (kind) => median(samples.map((sample) => sample[kind]));
  return { name, form, program_ms: of("program"), network_ms: of("network"), apart, samples,
           ratio: median(samples.map((sample) => sample.network / sample.program)) };
}

mkdirSync(given.folder, { recursive: true });
console.log(`${cpus()[0].model}, ${given.threads} threads, load ${loadavg()[0].toFixed(1)}, ${given.precision}`);
console.log("net            form    program ms   network ms   ratio   apart");
const results = [];
for (const name of given.nets.split(",")) {
  for (const form of given.forms.split(",")) {
    const result = compare(name, form);
    results.push(result);
    const far = result.apart > NOISE;
    if (far) process.exitCode = 1;
    console.log(`${name.padEnd(14)} ${form.padEnd(7)} ${result.program_ms.toFixed(2).padStart(10)} ` +
                `${result.network_ms.toFixed(2).padStart(12)} ${result.ratio.toFixed(3).padStart(7)}   ` +
                `${result.apart.toExponential(1)}${far ? "  TOO FAR" : ""}`);
  }
}
if (given.json) writeFileSync(given.json, JSON.stringify(results, null, 2) + "\n");
