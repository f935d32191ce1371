// Writes a net of nets/net.mjs as a compiled Core ML model: a program as text and its weights, in fp32 or fp16.

import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";

// Rounds to nearest, ties to even.
function half(value) {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0];
  const sign = (bits >>> 16) & 0x8000, magnitude = Math.abs(value);
  if (Number.isNaN(value)) return sign | 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;
  const step = magnitude < 2 ** -14 ? 2 ** -24 : 2 ** (Math.floor(Math.log2(magnitude)) - 10);
  let whole = Math.floor(magnitude / step);
  const rest = magnitude / step - whole;
  if (rest > 0.5 || (rest === 0.5 && whole % 2 === 1)) ++whole;
  if (step === 2 ** -24) return sign | whole;
  const exponent = Math.floor(Math.log2(magnitude)) + 15;
  return sign | ((exponent << 10) + whole - 1024);
}
const halves = (floats) => Uint16Array.from(floats, half);

const BLOB_TYPES = { fp16: 1, fp32: 2, int8: 4 };
const FEW = 10;  // up to this many elements are written in the text

export class MilWriter {
  constructor(net, type) {
    this.net = net;
    this.type = type;
    this.lines = [];
    this.blobs = [];
    this.offset = 64;
    // The model's inputs and outputs are always fp32.
    this.outside = new Set(type === "fp32" ? [] : [...net.inputs, ...net.outputs].map(({ name }) => name));
    for (const { name, shape } of net.inputs) {
      if (this.outside.has(name)) this.cast(this.inner(name), name, shape, type);
    }
    for (const node of net.nodes) this.write(node);
    for (const { name, shape } of net.outputs) {
      if (this.outside.has(name)) this.cast(name, this.inner(name), shape, "fp32");
    }
  }

  inner(name) {
    return this.outside.has(name) ? `${name}_inside` : name;
  }
  line(type, name, op, inputs) {
    const list = Object.entries(inputs).map(([key, value]) => `${key} = ${value}`).join(", ");
    this.lines.push(`${type} ${name} = ${op}(${list})[name = tensor<string, []>("${name}")];`);
  }
  cast(to, from, shape, type) {
    const text = this.constant(`${to}_type`, "string", [], `"${type}"`);
    this.line(tensorType(type, shape), to, "cast", { x: from, dtype: text });
  }
  constant(name, type, shape, text) {
    const full = tensorType(type, shape);
    this.lines.push(`${full} ${name} = const()[name = tensor<string, []>("${name}"), val = ${full}(${text})];`);
    return name;
  }
  blob(type, array) {
    const header = Buffer.alloc(64), data = Buffer.from(array.buffer, array.byteOffset, array.byteLength);
    header.writeUInt32LE(0xdeadbeef, 0);
    header.writeUInt32LE(BLOB_TYPES[type], 4);
    header.writeBigUInt64LE(BigInt(data.length), 8);
    header.writeBigUInt64LE(BigInt(this.offset + 64), 16);
    const at = this.offset, padding = Buffer.alloc((64 - (data.length % 64)) % 64);
    this.blobs.push(header, data, padding);
    this.offset += 64 + data.length + padding.length;
    return `BLOBFILE(path = tensor<string, []>("@model_path/weights/weight.bin"), offset = tensor<uint64, []>(${at}))`;
  }
  floats(name, shape, floats) {
    const few = shape.length < 2 && floats.length < FEW;
    const text = few ? (shape.length ? `[${[...floats].join(", ")}]` : `${floats[0]}`)
                     : this.blob(this.type, this.type === "fp16" ? halves(floats) : floats);
    return this.constant(name, this.type, shape, text);
  }
  weight(name, weight) {
    if (!weight.int8) return this.floats(name, weight.shape, weight.array);
    const { codes, scales } = this.net.quantized(weight);
    const shape = weight.shape.map((size, axis) => (axis === weight.axis ? size : 1));
    const data = this.constant(`${name}_codes`, "int8", weight.shape, this.blob("int8", codes));
    const scale = this.constant(`${name}_scales`, this.type, shape,
                                this.blob(this.type, this.type === "fp16" ? halves(scales) : scales));
    this.line(tensorType(this.type, weight.shape), name, "constexpr_blockwise_shift_scale", { data, scale });
    return name;
  }

  write({ op, name, shape, inputs, attributes: a, weights }) {
    const y = this.inner(name), x = inputs.map((input) => this.inner(input.name));
    const type = tensorType(this.type, shape);
    const integers = (key, list) => this.constant(`${y}_${key}`, "int32", [list.length], `[${list.join(", ")}]`);
    const integer = (key, value) => this.constant(`${y}_${key}`, "int32", [], `${value}`);
    const flag = (key, value) => this.constant(`${y}_${key}`, "bool", [], `${value}`);
    const string = (key, value) => this.constant(`${y}_${key}`, "string", [], `"${value}"`);
    const number = (key, value) => this.constant(`${y}_${key}`, this.type, [], `${value}`);
    const w = Object.fromEntries(Object.entries(weights).map(([key, one]) => [key, this.weight(`${y}_${key}`, one)]));
    const put = (kind, more = {}) => this.line(type, y, kind, { x: x[0], ...more });
    const windows = () => ({
      strides: integers("strides", a.strides), pad_type: string("pad_type", "custom"),
      pad: integers("pad", a.pad.flat()),
    });
    switch (op) {
      case "conv":
      case "conv_transpose":
        return put(op, { ...w, ...windows(), dilations: integers("dilations", a.dilations),
                         groups: integer("groups", a.groups) });
      case "linear":
        return put("linear", w);
      case "layer_norm":
        return put(op, { axes: integers("axes", [-1]), gamma: w.gamma, beta: w.beta, epsilon: number("epsilon", 1e-5) });
      case "matmul":
        return put(op, { y: x[1], transpose_x: flag("tx", false), transpose_y: flag("ty", false) });
      case "softmax":
        return put(op, { axis: integer("axis", a.axis) });
      case "relu":
      case "relu6":
      case "sigmoid":
      case "silu":
      case "tanh":
        return put(op);
      case "leaky_relu":
        return put(op, { alpha: number("alpha", a.alpha) });
      case "hard_sigmoid":
        return put("sigmoid_hard", { alpha: number("alpha", 1 / 6), beta: number("beta", 0.5) });
      case "hard_swish":
        this.line(type, `${y}_gate`, "sigmoid_hard", { x: x[0], alpha: number("alpha", 1 / 6), beta: number("beta", 0.5) });
        return put("mul", { y: `${y}_gate` });
      case "gelu":
        return put(op, { mode: string("mode", "EXACT") });
      case "scale":
        return put("mul", { y: number("by", a.by) });
      case "bias":
        return put("add", { y: w.bias });
      case "add":
      case "mul":
        return put(op, { y: x[1] });
      case "concat":
        return this.line(type, y, op, { values: `(${x.join(", ")})`, axis: integer("axis", a.axis),
                                        interleave: flag("interleave", false) });
      case "max_pool":
        return put(op, { kernel_sizes: integers("kernel", a.kernel), ...windows(), ceil_mode: flag("ceil", false) });
      case "global_pool":
        return put("reduce_mean", { axes: integers("axes", [2, 3]), keep_dims: flag("keep", true) });
      case "nearest":
      case "bilinear": {
        const factor = (axis) => this.constant(`${y}_${axis}`, "fp32", [], `${a.factor}.0`);
        const factors = { scale_factor_height: factor("height"), scale_factor_width: factor("width") };
        if (op === "nearest") return put("upsample_nearest_neighbor", factors);
        return put("upsample_bilinear", { ...factors, align_corners: flag("align", false), half_pixel_centers: flag("half", true) });
      }
      case "reshape":
        return put(op, { shape: integers("shape", a.shape) });
      case "transpose":
        return put(op, { perm: integers("perm", a.perm) });
      case "slice": {
        const whole = inputs[0].shape, axis = a.axis < 0 ? a.axis + whole.length : a.axis;
        return put("slice_by_index", {
          begin: integers("begin", whole.map((_, i) => (i === axis ? a.begin : 0))),
          end: integers("end", whole.map((size, i) => (i === axis ? a.end : size))),
        });
      }
      case "l2_norm":
        this.line(tensorType(this.type, shape.map((size, i) => (i === a.axis ? 1 : size))), `${y}_norm`, "reduce_l2_norm",
                  { x: x[0], axes: integers("axes", [a.axis]), keep_dims: flag("keep", true) });
        return put("real_div", { y: `${y}_norm` });
      case "lstm": {
        const zeros = (key) => this.floats(`${y}_${key}`, [1, a.hidden], new Float32Array(a.hidden));
        const state = tensorType(this.type, [1, a.hidden]);
        const inputsOf = { x: x[0], initial_h: zeros("h"), initial_c: zeros("c"), weight_ih: w.ih, weight_hh: w.hh,
                           bias: w.bias, direction: string("direction", "forward"),
                           output_sequence: flag("sequence", true) };
        const list = Object.entries(inputsOf).map(([key, value]) => `${key} = ${value}`).join(", ");
        this.lines.push(`${type} ${y}, ${state} ${y}_last, ${state} ${y}_cell = lstm(${list})` +
                        `[name = tensor<string, []>("${y}")];`);
        return;
      }
      case "quantized": {
        const scale = this.constant(`${y}_scale`, this.type, [], `${a.scale}`);
        this.line(tensorType("int8", shape), `${y}_codes`, "quantize",
                  { input: x[0], scale, output_dtype: string("dtype", "int8") });
        return this.line(type, y, "dequantize", { input: `${y}_codes`, scale });
      }
      default:
        throw new Error(`${op}: no MIL for it`);
    }
  }

  save(folder) {
    const inputs = this.net.inputs.map(({ name, shape }) => `${tensorType("fp32", shape)} ${name}`).join(", ");
    const outputs = this.net.outputs.map(({ name }) => name).join(", ");
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(path.join(folder, "weights"), { recursive: true });
    writeFileSync(path.join(folder, "model.mil"), `program(1.0)\n{\n    func main<ios18>(${inputs}) {\n` +
                  this.lines.map((line) => `            ${line}\n`).join("") + `        } -> (${outputs});\n}\n`);
    const header = Buffer.alloc(64);
    header.writeUInt32LE(this.blobs.length / 3, 0);
    header.writeUInt32LE(2, 4);
    writeFileSync(path.join(folder, "weights/weight.bin"), Buffer.concat([header, ...this.blobs]));
  }
}

function tensorType(type, shape) {
  return `tensor<${type}, [${shape.join(", ")}]>`;
}
