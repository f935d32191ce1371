// Writes a net of nets/net.mjs as an ONNX file: opset 17, fp32.

import { writeFileSync } from "node:fs";

import { float, integer, message } from "./protobuf.mjs";

const TYPES = { float: 1, int8: 3, int32: 6, int64: 7 };

function tensor(field, name, type, shape, array) {
  return message(field, ...shape.map((size) => integer(1, size)), integer(2, TYPES[type]), message(8, name),
                 message(9, Buffer.from(array.buffer, array.byteOffset, array.byteLength)));
}
function valueInfo(field, name, shape) {
  const dims = shape.map((size) => message(1, integer(1, size)));
  return message(field, message(1, name), message(2, message(1, integer(1, TYPES.float), message(2, ...dims))));
}
function attribute(name, value) {
  const named = message(1, name);
  if (Array.isArray(value)) {
    return message(5, named, ...value.map((one) => integer(8, one)), integer(20, 7));
  }
  if (typeof value === "string") return message(5, named, message(4, value), integer(20, 3));
  if (value instanceof Float) return message(5, named, float(2, value.number), integer(20, 1));
  return message(5, named, integer(3, value), integer(20, 2));
}
class Float {
  constructor(number) {
    this.number = number;
  }
}

// Reorders rows of gates from MIL's order (input, forget, output, cell) to ONNX's (input, output, forget, cell).
function reordered(gates, hidden) {
  const each = (gates.length / (4 * hidden)) * hidden;
  const result = new Float32Array(gates.length);
  [0, 2, 1, 3].forEach((from, to) => result.set(gates.subarray(from * each, (from + 1) * each), to * each));
  return result;
}

// Transposes [outputs, C] to [C, outputs].
function transposed({ shape: [rows, columns], array, int8 }) {
  const result = new Float32Array(array.length);
  for (let i = 0; i < rows; ++i) {
    for (let j = 0; j < columns; ++j) result[j * rows + i] = array[i * columns + j];
  }
  return { shape: [columns, rows], axis: 1, array: result, int8 };
}

export class OnnxWriter {
  constructor(net) {
    this.net = net;
    this.initializers = [];
    this.nodes = [];
    for (const node of net.nodes) this.write(node);
  }

  node(type, inputs, outputs, attributes = {}) {
    this.nodes.push(message(1, ...inputs.map((name) => message(1, name)),
                            ...[outputs].flat().map((name) => message(2, name)), message(3, [outputs].flat()[0]),
                            message(4, type),
                            ...Object.entries(attributes).map(([name, value]) => attribute(name, value))));
  }
  floats(name, shape, array) {
    this.initializers.push(tensor(5, name, "float", shape, array));
    return name;
  }
  number(name, value) {
    return this.floats(name, [], Float32Array.of(value));
  }
  integers(name, list) {
    this.initializers.push(tensor(5, name, "int64", [list.length], BigInt64Array.from(list.map(BigInt))));
    return name;
  }
  // Weights as int8 with a scale per output.
  bytes(name, { shape, array, axis }) {
    const { codes, scales } = this.net.quantized({ shape, array, axis });
    this.initializers.push(tensor(5, `${name}_codes`, "int8", shape, codes));
    this.floats(`${name}_scales`, [scales.length], scales);
    this.initializers.push(tensor(5, `${name}_zeros`, "int8", [scales.length], new Int8Array(scales.length)));
    this.node("DequantizeLinear", [`${name}_codes`, `${name}_scales`, `${name}_zeros`], name, { axis });
    return name;
  }
  weight(name, weight) {
    if (weight.int8) return this.bytes(name, weight);
    return this.floats(name, weight.shape, weight.array);
  }

  write({ op, name: y, inputs, attributes: a, weights }) {
    const x = inputs.map((input) => input.name);
    const put = (type, attributes, ...more) => this.node(type, [...x, ...more], y, attributes);
    const w = Object.fromEntries(Object.entries(weights).map(([key, one]) => [key, `${y}_${key}`]));
    if (op === "linear") weights = { ...weights, weight: transposed(weights.weight) };
    if (op !== "lstm") for (const [key, one] of Object.entries(weights)) this.weight(w[key], one);
    switch (op) {
      case "conv":
      case "conv_transpose": {
        const pads = [...a.pad.map(([begin]) => begin), ...a.pad.map(([, end]) => end)];
        return put(op === "conv" ? "Conv" : "ConvTranspose",
                   { strides: a.strides, pads, dilations: a.dilations, group: a.groups }, ...Object.values(w));
      }
      case "linear":
        this.node("MatMul", [x[0], w.weight], `${y}_product`);
        return this.node("Add", [`${y}_product`, w.bias], y);
      case "layer_norm":
        return put("LayerNormalization", { axis: -1, epsilon: new Float(1e-5) }, w.gamma, w.beta);
      case "matmul":
        return put("MatMul", {});
      case "softmax":
        return put("Softmax", { axis: a.axis });
      case "relu":
        return put("Relu", {});
      case "sigmoid":
        return put("Sigmoid", {});
      case "tanh":
        return put("Tanh", {});
      case "relu6":
        return put("Clip", {}, this.number(`${y}_low`, 0), this.number(`${y}_high`, 6));
      case "leaky_relu":
        return put("LeakyRelu", { alpha: new Float(a.alpha) });
      case "hard_sigmoid":
        return put("HardSigmoid", { alpha: new Float(1 / 6), beta: new Float(0.5) });
      case "hard_swish":
        return put("HardSwish", {});
      case "silu":
        this.node("Sigmoid", x, `${y}_gate`);
        return this.node("Mul", [x[0], `${y}_gate`], y);
      case "gelu":
        this.node("Div", [x[0], this.number(`${y}_root`, Math.SQRT2)], `${y}_scaled`);
        this.node("Erf", [`${y}_scaled`], `${y}_erf`);
        this.node("Add", [`${y}_erf`, this.number(`${y}_one`, 1)], `${y}_plus`);
        this.node("Mul", [x[0], `${y}_plus`], `${y}_double`);
        return this.node("Mul", [`${y}_double`, this.number(`${y}_half`, 0.5)], y);
      case "scale":
        return put("Mul", {}, this.number(`${y}_by`, a.by));
      case "bias":
        return put("Add", {}, w.bias);
      case "add":
        return put("Add", {});
      case "mul":
        return put("Mul", {});
      case "concat":
        return put("Concat", { axis: a.axis });
      case "max_pool":
        return put("MaxPool", { kernel_shape: a.kernel, strides: a.strides,
                                pads: [...a.pad.map(([begin]) => begin), ...a.pad.map(([, end]) => end)] });
      case "global_pool":
        return put("GlobalAveragePool", {});
      case "nearest":
      case "bilinear":
        return this.node("Resize", [x[0], "", this.floats(`${y}_scales`, [4], Float32Array.of(1, 1, a.factor, a.factor))],
                         y, op === "nearest"
                              ? { mode: "nearest", coordinate_transformation_mode: "asymmetric", nearest_mode: "floor" }
                              : { mode: "linear", coordinate_transformation_mode: "half_pixel" });
      case "reshape":
        return put("Reshape", {}, this.integers(`${y}_shape`, a.shape));
      case "transpose":
        return put("Transpose", { perm: a.perm });
      case "slice":
        return put("Slice", {}, this.integers(`${y}_begin`, [a.begin]), this.integers(`${y}_end`, [a.end]),
                   this.integers(`${y}_axis`, [a.axis]));
      case "l2_norm":
        this.node("ReduceL2", x, `${y}_norm`, { axes: [a.axis], keepdims: 1 });
        return this.node("Div", [x[0], `${y}_norm`], y);
      case "lstm": {
        const hidden = a.hidden;
        const shape = (key) => [1, ...weights[key].shape];
        this.floats(w.ih, shape("ih"), reordered(weights.ih.array, hidden));
        this.floats(w.hh, shape("hh"), reordered(weights.hh.array, hidden));
        const bias = new Float32Array(8 * hidden);
        bias.set(reordered(weights.bias.array, hidden));
        this.floats(w.bias, [1, 8 * hidden], bias);
        this.node("LSTM", [x[0], w.ih, w.hh, w.bias], `${y}_all`, { hidden_size: hidden });
        return this.node("Squeeze", [`${y}_all`, this.integers(`${y}_axis`, [1])], y);
      }
      case "quantized": {
        this.number(`${y}_scale`, a.scale);
        this.initializers.push(tensor(5, `${y}_zero`, "int8", [], new Int8Array(1)));
        this.node("QuantizeLinear", [x[0], `${y}_scale`, `${y}_zero`], `${y}_codes`);
        return this.node("DequantizeLinear", [`${y}_codes`, `${y}_scale`, `${y}_zero`], y);
      }
      default:
        throw new Error(`${op}: no ONNX for it`);
    }
  }

  save(file) {
    const graph = message(7, ...this.nodes, message(2, this.net.name), ...this.initializers,
                          ...this.net.inputs.map((value) => valueInfo(11, value.name, value.shape)),
                          ...this.net.outputs.map((value) => valueInfo(12, value.name, value.shape)));
    writeFileSync(file, Buffer.concat([integer(1, 8), graph, message(8, integer(2, 17))]));
  }
}
