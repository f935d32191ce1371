// Writes a net of nets/net.mjs as a Core ML neural network (.mlmodel, specification 1), fp32, in the form of old
// converters: with `norms`, a batch norm after every convolution, layers of zeros around those with a stride, and
// relu6 in four layers. The values are those of the net.

import { writeFileSync } from "node:fs";

import { float, integer, message } from "./protobuf.mjs";

const FLOAT32 = 65568, EPSILON = 1e-3;
const LAYER = { convolution: 100, pooling: 120, activation: 130, innerProduct: 140, batchnorm: 160, softmax: 175,
                padding: 200, unary: 220, add: 230, concat: 320, flatten: 301 };
const MAX = 0, AVERAGE = 1, THRESHOLD = 7;

const bytesOf = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);
const weights = (field, array) => message(field, message(1, bytesOf(Float32Array.from(array))));
const numbers = (field, list) => list.map((value) => integer(field, value));
const amounts = (pads) => pads.map(([start, end]) => message(10, integer(1, start), integer(2, end)));

export class NetworkWriter {
  constructor(net, { norms = false } = {}) {
    this.net = net;
    this.norms = norms;
    this.layers = [];
    for (const node of net.nodes) this.write(node);
  }

  layer(type, inputs, output, ...parameters) {
    const names = [message(1, output), ...inputs.map((name) => message(2, name)), message(3, output)];
    this.layers.push(message(1, ...names, message(LAYER[type], ...parameters)));
    return output;
  }
  activation(x, y, field, ...parameters) {
    return this.layer("activation", [x], y, message(field, ...parameters));
  }
  // The input inside a border, which is then left to the layer if it is not written on its own.
  padded(x, y, a) {
    const zeros = a.pad.flat().every((amount) => amount === 0);
    if (!this.norms || zeros || a.strides.every((stride) => stride === 1)) return [x, a.pad];
    return [this.layer("padding", [x], `${y}_padded`, message(1), message(10, ...amounts(a.pad))), a.pad.map(() => [0, 0])];
  }

  conv({ name, inputs, attributes: a, weights: w }) {
    const [outputs, channels, ...kernel] = w.weight.shape;
    const [x, pad] = this.padded(inputs[0].name, name, a);
    const inner = w.weight.array.length / outputs;
    // scale * (x - mean) + beta of a convolution with weights divided by the scale.
    const norm = this.norms && { mean: this.net.uniform(outputs, 0.2), variance: this.net.uniform(outputs, 0.2).map((v) => v + 1),
                                 gamma: this.net.uniform(outputs, 0.2).map((v) => v + 1) };
    const scale = norm && norm.gamma.map((gamma, i) => gamma / Math.sqrt(norm.variance[i] + EPSILON));
    const weight = norm ? w.weight.array.map((value, i) => value / scale[Math.floor(i / inner)]) : w.weight.array;
    const y = norm ? `${name}_conv` : name;
    this.layer("convolution", [x], y, integer(1, outputs), integer(2, channels), integer(10, a.groups),
               ...numbers(20, kernel), ...numbers(30, a.strides), ...numbers(40, a.dilations),
               message(50, message(1, ...amounts(pad))), integer(70, norm ? 0 : 1), weights(90, weight),
               ...(norm ? [] : [weights(91, w.bias.array)]));
    if (!norm) return;
    const beta = norm.mean.map((mean, i) => w.bias.array[i] + scale[i] * mean);
    this.layer("batchnorm", [y], name, integer(1, outputs), float(10, EPSILON), weights(15, norm.gamma),
               weights(16, beta), weights(17, norm.mean), weights(18, norm.variance));
  }

  write(node) {
    const { op, name: y, inputs, attributes: a, weights: w } = node, x = inputs[0].name;
    switch (op) {
      case "conv":
        return this.conv(node);
      case "relu":
        return this.activation(x, y, 10);
      case "leaky_relu":
        return this.activation(x, y, 15, float(1, a.alpha));
      case "relu6": {
        const negative = this.activation(this.activation(x, `${y}_relu`, 10), `${y}_negative`, 5, float(1, -1), float(2, 0));
        this.layer("unary", [negative], `${y}_clipped`, integer(1, THRESHOLD), float(2, -6), float(5, 1));
        return this.activation(`${y}_clipped`, y, 5, float(1, -1), float(2, 0));
      }
      case "sigmoid":
        return this.activation(x, y, 40);
      case "tanh":
        return this.activation(x, y, 30);
      case "add":
        return this.layer("add", inputs.map(({ name }) => name), y);
      case "concat":
        return this.layer("concat", inputs.map(({ name }) => name), y);
      case "max_pool": {
        const borders = message(30, message(1, ...amounts(a.pad)));
        return this.layer("pooling", [x], y, integer(1, MAX), ...numbers(10, a.kernel), ...numbers(20, a.strides), borders);
      }
      case "global_pool":
        return this.layer("pooling", [x], y, integer(1, AVERAGE), integer(60, 1));
      case "reshape":
        return this.layer("flatten", [x], y);
      case "linear":
        return this.layer("innerProduct", [x], y, integer(1, w.weight.shape[1]), integer(2, w.weight.shape[0]),
                          integer(10, 1), weights(20, w.weight.array), weights(21, w.bias.array));
      case "softmax":
        return this.layer("softmax", [x], y);
      default:
        throw new Error(`${op}: no layer for it`);
    }
  }

  save(file) {
    const feature = (field, name, shape) => message(
      field, message(1, name), message(3, message(5, ...numbers(1, shape), integer(2, FLOAT32))));
    const sizes = (shape) => (shape.length === 4 ? shape.slice(1) : [shape.at(-1)]);
    const description = [...this.net.inputs.map(({ name, shape }) => feature(1, name, sizes(shape))),
                         ...this.net.outputs.map(({ name, shape }) => feature(10, name, sizes(shape)))];
    writeFileSync(file, Buffer.concat([integer(1, 1), message(2, ...description), message(500, ...this.layers)]));
  }
}
