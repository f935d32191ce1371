// A net with the operations that ONNX and MIL have in common, with random weights from one seed. onnx.mjs and mil.mjs
// write it. Values are { name, shape }; images are [N, C, H, W] or [N, C, T], tokens [..., T, C].

// Returns the nearest fp16 number.
function nearestHalf(value) {
  if (value === 0) return 0;
  const step = 2 ** (Math.max(Math.floor(Math.log2(Math.abs(value))), -14) - 10);
  return Math.round(value / step) * step;
}

export class Net {
  constructor(name, { int8 = false, type = "fp32" } = {}) {
    this.name = name;
    this.int8 = int8;
    this.round = type === "fp16" ? nearestHalf : (value) => value;
    this.inputs = [];
    this.nodes = [];
    this.outputs = [];
    this.random = 12345;
  }

  // Uniform in [-bound, bound].
  uniform(count, bound) {
    const array = new Float32Array(count);
    for (let i = 0; i < count; ++i) {
      this.random = (Math.imul(this.random, 1664525) + 1013904223) >>> 0;
      array[i] = this.round((this.random / 2 ** 31 - 1) * bound);
    }
    return array;
  }
  // Weights that roughly keep the magnitude of their input, followed by a rectifier.
  weight(shape, axis, gain = 1) {
    const count = shape.reduce((product, size) => product * size, 1);
    const bound = gain * Math.sqrt((6 * shape[axis]) / count);
    return { shape, axis, array: this.uniform(count, bound), int8: this.int8 };
  }
  vector(count, bound = 0.1, offset = 0) {
    return { shape: [count], array: this.uniform(count, bound).map((value) => this.round(value + offset)) };
  }
  // Quantized 8-bit values with a scale for each index of the weight's output axis.
  quantized({ shape, array, axis }) {
    const inner = shape.slice(axis + 1).reduce((product, size) => product * size, 1);
    const scales = new Float32Array(shape[axis]);
    const output = (i) => Math.floor(i / inner) % shape[axis];
    for (let i = 0; i < array.length; ++i) scales[output(i)] = Math.max(scales[output(i)], Math.abs(array[i]) / 127);
    return { scales, codes: Int8Array.from(array, (value, i) => Math.round(value / scales[output(i)])) };
  }

  input(name, shape) {
    const value = { name, shape };
    this.inputs.push(value);
    return value;
  }
  output(...values) {
    this.outputs.push(...values);
    return this;
  }
  add_node(op, inputs, shape, attributes = {}, weights = {}) {
    const node = { op, name: `v${this.nodes.length}_${op}`, inputs, shape, attributes, weights };
    this.nodes.push(node);
    return node;
  }
  // The operand of a product with weights, rounded to 8 bits if the net is int8.
  operand(x) {
    if (!this.int8 || x.op === "quantized") return x;
    x.rounded ??= this.add_node("quantized", [x], x.shape, { scale: 4 / 127 });
    return x.rounded;
  }

  conv(x, outputs, kernel, { stride = 1, pad, groups = 1, dilation = 1, gain = 1 } = {}) {
    const each = (value) => (Array.isArray(value) ? value : Array(x.shape.length - 2).fill(value));
    const kernels = each(kernel), strides = each(stride), dilations = each(dilation);
    const pads = pad ? each(pad) : kernels.map((size, i) => [size, i]).map(([size, i]) => {
      const total = (size - 1) * dilations[i];
      return [total >> 1, total - (total >> 1)];
    });
    const pairs = pads.map((one) => (Array.isArray(one) ? one : [one, one]));
    const places = x.shape.slice(2).map((size, i) =>
      Math.floor((size + pairs[i][0] + pairs[i][1] - (kernels[i] - 1) * dilations[i] - 1) / strides[i]) + 1);
    return this.add_node("conv", [this.operand(x)], [x.shape[0], outputs, ...places],
                         { strides, pad: pairs, dilations, groups },
                         { weight: this.weight([outputs, x.shape[1] / groups, ...kernels], 0, gain),
                           bias: this.vector(outputs) });
  }
  convTranspose(x, outputs, kernel, stride, pad) {
    const axes = x.shape.length - 2, all = (value) => Array(axes).fill(value);
    const places = x.shape.slice(2).map((size) => (size - 1) * stride - 2 * pad + kernel);
    return this.add_node("conv_transpose", [this.operand(x)], [x.shape[0], outputs, ...places],
                         { strides: all(stride), pad: all([pad, pad]), dilations: all(1), groups: 1 },
                         { weight: this.weight([x.shape[1], outputs, ...all(kernel)], 1, stride), bias: this.vector(outputs) });
  }
  // x [..., C] with weights [C, outputs], which MIL stores transposed.
  linear(x, outputs, gain = 1) {
    const channels = x.shape.at(-1);
    return this.add_node("linear", [this.operand(x)], [...x.shape.slice(0, -1), outputs], {},
                         { weight: this.weight([outputs, channels], 0, gain * 0.7), bias: this.vector(outputs) });
  }
  layerNorm(x) {
    const size = x.shape.at(-1);
    return this.add_node("layer_norm", [x], x.shape, {}, { gamma: this.vector(size, 0.1, 1), beta: this.vector(size) });
  }
  lstm(x, hidden) {
    return this.add_node("lstm", [x], [x.shape[0], 1, hidden], { hidden },
                         { ih: { ...this.weight([4 * hidden, x.shape[2]], 0, 0.6), int8: false },
                           hh: { ...this.weight([4 * hidden, hidden], 0, 0.6), int8: false }, bias: this.vector(4 * hidden) });
  }

  // Elementwise operation with one input.
  unary(op, x, attributes = {}) {
    return this.add_node(op, [x], x.shape, attributes);
  }
  scale(x, by) {
    return this.unary("scale", x, { by });
  }
  // Adds a vector along the last axis, or a constant of any shape that broadcasts.
  bias(x, shape) {
    const count = shape.reduce((product, size) => product * size, 1);
    return this.add_node("bias", [x], x.shape, {}, { bias: { shape, array: this.uniform(count, 0.1) } });
  }
  softmax(x, axis) {
    return this.unary("softmax", x, { axis });
  }
  l2Norm(x, axis) {
    return this.unary("l2_norm", x, { axis });
  }
  binary(op, x, y) {
    const rank = Math.max(x.shape.length, y.shape.length);
    const at = (value, i) => value.shape[i - rank + value.shape.length] ?? 1;
    return this.add_node(op, [x, y], Array.from({ length: rank }, (_, i) => Math.max(at(x, i), at(y, i))));
  }
  add(x, y) {
    return this.binary("add", x, y);
  }
  mul(x, y) {
    return this.binary("mul", x, y);
  }
  matmul(x, y) {
    return this.add_node("matmul", [x, y], [...x.shape.slice(0, -1), y.shape.at(-1)]);
  }
  concat(values, axis = 1) {
    const shape = [...values[0].shape];
    shape[axis] = values.reduce((sum, value) => sum + value.shape[axis], 0);
    return this.add_node("concat", values, shape, { axis });
  }
  maxPool(x, kernel, stride, pad = 0) {
    const places = x.shape.slice(2).map((size) => Math.floor((size + 2 * pad - kernel) / stride) + 1);
    return this.add_node("max_pool", [x], [...x.shape.slice(0, 2), ...places],
                         { kernel: [kernel, kernel], strides: [stride, stride], pad: [[pad, pad], [pad, pad]] });
  }
  globalPool(x) {
    return this.add_node("global_pool", [x], [...x.shape.slice(0, 2), 1, 1]);
  }
  upsample(x, factor, op = "nearest") {
    return this.add_node(op, [x], [...x.shape.slice(0, 2), ...x.shape.slice(2).map((size) => size * factor)], { factor });
  }
  reshape(x, shape) {
    return this.add_node("reshape", [x], shape, { shape });
  }
  transpose(x, perm) {
    return this.add_node("transpose", [x], perm.map((axis) => x.shape[axis]), { perm });
  }
  slice(x, axis, begin, end) {
    const shape = [...x.shape];
    shape.splice(axis, 1, end - begin);
    return this.add_node("slice", [x], shape, { axis, begin, end });
  }
  split(x, parts, axis = 1) {
    const each = x.shape[axis] / parts;
    return Array.from({ length: parts }, (_, i) => this.slice(x, axis, i * each, (i + 1) * each));
  }

  // Multi-head attention of tokens [T, C] to tokens [S, C].
  attention(x, from, heads) {
    const size = x.shape[1] / heads;
    const split = (value, perm) => this.transpose(this.reshape(value, [value.shape[0], heads, size]), perm);
    const q = split(this.scale(this.linear(x, x.shape[1]), size ** -0.5), [1, 0, 2]);
    const k = split(this.linear(from, x.shape[1]), [1, 2, 0]), v = split(this.linear(from, x.shape[1]), [1, 0, 2]);
    return this.attended(q, k, v);
  }
  // q [heads, T, size], k [heads, size, S], v [heads, S, size] to [T, C].
  attended(q, k, v) {
    const mixed = this.transpose(this.matmul(this.softmax(this.matmul(q, k), -1), v), [1, 0, 2]);
    const channels = mixed.shape[1] * mixed.shape[2];
    return this.linear(this.reshape(mixed, [mixed.shape[0], channels]), channels);
  }
}
