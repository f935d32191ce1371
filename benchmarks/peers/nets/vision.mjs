// Nets for pictures, in the sizes of the originals; norms are folded into convolutions.

// A convolution and its activation; `act` null: none.
function block(net, x, outputs, kernel, { act = "relu", ...options } = {}) {
  const y = net.conv(x, outputs, kernel, options);
  return act ? net.unary(act, y, act === "leaky_relu" ? { alpha: 0.1 } : {}) : y;
}

export function superpoint(net) {
  let x = net.input("image", [1, 1, 240, 320]);
  for (const [stage, channels] of [64, 64, 128, 128].entries()) {
    if (stage > 0) x = net.maxPool(x, 2, 2);
    x = block(net, block(net, x, channels, 3), channels, 3);
  }
  const points = net.softmax(net.conv(block(net, x, 256, 3), 65, 1), 1);
  const descriptors = net.l2Norm(net.conv(block(net, x, 256, 3), 256, 1), 1);
  return net.output(points, descriptors);
}

export function yunet(net) {
  const depthwise = (x, outputs, act = "relu") =>
    block(net, net.conv(x, outputs, 1), outputs, 3, { groups: outputs, act });
  const pair = (x, outputs) => depthwise(depthwise(x, x.shape[1]), outputs);
  let x = block(net, net.input("image", [1, 3, 640, 640]), 16, 3, { stride: 2 });
  x = net.maxPool(depthwise(x, 16), 2, 2);
  x = net.maxPool(pair(x, 64), 2, 2);
  const levels = [];
  for (let i = 0; i < 3; ++i) {
    x = pair(pair(x, 64), 64);
    levels.push(x);
    if (i < 2) x = net.maxPool(x, 2, 2);
  }
  for (const i of [1, 0]) levels[i] = depthwise(net.add(levels[i], net.upsample(levels[i + 1], 2)), 64);
  for (const level of levels) {
    const head = depthwise(level, 64);
    for (const outputs of [1, 4, 1, 10]) net.output(depthwise(head, outputs, outputs === 1 ? "sigmoid" : null));
  }
  return net;
}

export function resnet50(net) {
  let x = net.maxPool(block(net, net.input("image", [1, 3, 224, 224]), 64, 7, { stride: 2 }), 3, 2, 1);
  for (const [stage, count] of [3, 4, 6, 3].entries()) {
    for (let i = 0; i < count; ++i) {
      const channels = 64 << stage, stride = i === 0 && stage > 0 ? 2 : 1;
      const y = net.conv(block(net, block(net, x, channels, 1), channels, 3, { stride }), 4 * channels, 1, { gain: 0.3 });
      x = net.unary("relu", net.add(y, i === 0 ? net.conv(x, 4 * channels, 1, { stride, gain: 0.7 }) : x));
    }
  }
  return net.output(classes(net, net.globalPool(x)));
}

function classes(net, x) {
  return net.linear(net.reshape(x, [1, x.shape[1]]), 1000);
}

function squeezed(net, x, channels, act, gate) {
  return net.mul(x, net.unary(gate, net.conv(block(net, net.globalPool(x), channels, 1, { act }), x.shape[1], 1)));
}

// Expand, depthwise convolution, project; `squeeze`: channels of the gate.
function inverted(net, x, outputs, kernel, wide, { stride = 1, act = "relu6", squeeze = 0 }) {
  let y = wide === x.shape[1] ? x : block(net, x, wide, 1, { act });
  y = block(net, y, wide, kernel, { stride, groups: wide, act });
  if (squeeze) y = squeezed(net, y, squeeze, "relu", "hard_sigmoid");
  y = net.conv(y, outputs, 1, { gain: 0.5 });
  return stride === 1 && outputs === x.shape[1] ? net.add(y, x) : y;
}

function mobile(net, stages, act, last) {
  let x = block(net, net.input("image", [1, 3, 224, 224]), stages[0], 3, { stride: 2, act });
  for (const [kernel, wide, outputs, squeeze, kind, stride] of stages.slice(1)) {
    x = inverted(net, x, outputs, kernel, wide ?? x.shape[1], { stride, act: kind, squeeze });
  }
  return net.output(classes(net, net.globalPool(block(net, x, last, 1, { act }))));
}

function repeated(rows) {
  let channels = 0;
  return rows.flatMap(([factor, outputs, count, stride, kernel]) => Array.from({ length: count }, (_, i) => {
    const row = [kernel, channels ? factor * channels : null, outputs, 0, "relu6", i === 0 ? stride : 1];
    channels = outputs;
    return row;
  }));
}

export function mobilenetV1(net) {
  let x = block(net, net.input("image", [1, 3, 224, 224]), 32, 3, { stride: 2 });
  for (const [outputs, stride] of [[64, 1], [128, 2], [128, 1], [256, 2], [256, 1], [512, 2], ...Array(5).fill([512, 1]),
                                   [1024, 2], [1024, 1]]) {
    x = block(net, block(net, x, x.shape[1], 3, { stride, groups: x.shape[1] }), outputs, 1);
  }
  return net.output(classes(net, net.globalPool(x)));
}

// Tiny YOLO v2.
export function tinyYolo(net) {
  const leaky = { act: "leaky_relu" };
  let x = block(net, net.input("image", [1, 3, 416, 416]), 16, 3, leaky);
  for (const outputs of [32, 64, 128, 256, 512]) x = block(net, net.maxPool(x, 2, 2), outputs, 3, leaky);
  return net.output(net.conv(block(net, block(net, x, 1024, 3, leaky), 1024, 3, leaky), 125, 1));
}

export function mobilenetV2(net) {
  return mobile(net, [32, ...repeated([[1, 16, 1, 1, 3], [6, 24, 2, 2, 3], [6, 32, 3, 2, 3], [6, 64, 4, 2, 3],
                                       [6, 96, 3, 1, 3], [6, 160, 3, 2, 3], [6, 320, 1, 1, 3]])], "relu6", 1280);
}

export function efficientnetLite(net) {
  return mobile(net, [32, ...repeated([[1, 16, 1, 1, 3], [6, 24, 2, 2, 3], [6, 40, 2, 2, 5], [6, 80, 3, 2, 3],
                                       [6, 112, 3, 1, 5], [6, 192, 4, 2, 5], [6, 320, 1, 1, 3]])], "relu6", 1280);
}

export function mobilenetV3(net) {
  const r = "relu", h = "hard_swish";
  return mobile(net, [16, [3, 16, 16, 0, r, 1], [3, 64, 24, 0, r, 2], [3, 72, 24, 0, r, 1], [5, 72, 40, 24, r, 2],
                      [5, 120, 40, 32, r, 1], [5, 120, 40, 32, r, 1], [3, 240, 80, 0, h, 2], [3, 200, 80, 0, h, 1],
                      [3, 184, 80, 0, h, 1], [3, 184, 80, 0, h, 1], [3, 480, 112, 120, h, 1], [3, 672, 112, 168, h, 1],
                      [5, 672, 160, 168, h, 2], [5, 960, 160, 240, h, 1], [5, 960, 160, 240, h, 1]], h, 960);
}

const silu = { act: "silu" };

// Two halves, one of which goes through bottlenecks; all results are concatenated.
function c2f(net, x, outputs, count, shortcut, bottleneck = twoConvolutions) {
  const parts = net.split(block(net, x, outputs, 1, silu), 2);
  for (let i = 0; i < count; ++i) parts.push(bottleneck(net, parts.at(-1), shortcut));
  return block(net, net.concat(parts), outputs, 1, silu);
}
function twoConvolutions(net, x, shortcut, middle = x.shape[1]) {
  const y = block(net, block(net, x, middle, 3, silu), x.shape[1], 3, { ...silu, gain: shortcut ? 0.5 : 1 });
  return shortcut ? net.add(x, y) : y;
}
function nested(net, x, shortcut) {
  const half = x.shape[1] / 2;
  let y = block(net, x, half, 1, silu);
  for (let i = 0; i < 2; ++i) y = twoConvolutions(net, y, shortcut);
  return block(net, net.concat([y, block(net, x, half, 1, silu)]), x.shape[1], 1, silu);
}
function narrow(net, x, shortcut) {
  return twoConvolutions(net, x, shortcut, x.shape[1] / 2);
}

function pyramid(net, x, outputs) {
  const half = block(net, x, x.shape[1] / 2, 1, silu), all = [half];
  for (let i = 0; i < 3; ++i) all.push(net.maxPool(all.at(-1), 5, 1, 2));
  return block(net, net.concat(all), outputs, 1, silu);
}

// Boxes and scores at three levels, with the expected value over 16 bins for each distance.
function detections(net, levels, scores) {
  const boxes = [], classes = [];
  for (const x of levels) {
    const places = x.shape[2] * x.shape[3];
    const distances = net.conv(block(net, block(net, x, 64, 3, silu), 64, 3, silu), 64, 1);
    boxes.push(net.reshape(distances, [1, 64, places]));
    classes.push(net.reshape(net.conv(scores(x), 80, 1), [1, 80, places]));
  }
  const all = net.concat(boxes, 2), places = all.shape[2];
  const bins = net.softmax(net.transpose(net.reshape(all, [1, 4, 16, places]), [0, 2, 1, 3]), 1);
  const expected = net.reshape(net.conv(bins, 1, 1), [1, 4, places]);
  return net.output(net.concat([expected, net.unary("sigmoid", net.concat(classes, 2))], 1));
}

function yolo(net, { stages, top, neck, scores }) {
  let x = block(net, net.input("image", [1, 3, 640, 640]), 16, 3, { ...silu, stride: 2 });
  const levels = [];
  for (const [channels, make] of stages) {
    x = make(block(net, x, channels, 3, { ...silu, stride: 2 }));
    levels.push(x);
  }
  x = top(x);
  const [, p3, p4] = levels;
  const middle = neck(net.concat([net.upsample(x, 2), p4]), 128);
  const fine = neck(net.concat([net.upsample(middle, 2), p3]), 64);
  const next = neck(net.concat([block(net, fine, 64, 3, { ...silu, stride: 2 }), middle]), 128);
  const coarse = neck(net.concat([block(net, next, 128, 3, { ...silu, stride: 2 }), x]), 256);
  return detections(net, [fine, next, coarse], scores);
}

export function yoloV8n(net) {
  return yolo(net, {
    stages: [[32, 1], [64, 2], [128, 2], [256, 1]].map(([channels, count]) =>
      [channels, (x) => c2f(net, x, channels, count, true)]),
    top: (x) => pyramid(net, x, 256),
    neck: (x, channels) => c2f(net, x, channels, 1, false),
    scores: (x) => block(net, block(net, x, 80, 3, silu), 80, 3, silu),
  });
}

// Attention over the positions of the coarsest level, with position encodings from a depthwise convolution.
function placeAttention(net, x) {
  const [, channels, height, width] = x.shape, heads = channels / 64, places = height * width;
  const all = net.reshape(net.conv(x, 2 * channels, 1), [heads, 128, places]);
  const q = net.slice(all, 1, 0, 32), k = net.slice(all, 1, 32, 64), v = net.slice(all, 1, 64, 128);
  const weights = net.softmax(net.scale(net.matmul(net.transpose(q, [0, 2, 1]), k), 32 ** -0.5), -1);
  const mixed = net.reshape(net.matmul(v, net.transpose(weights, [0, 2, 1])), [1, channels, height, width]);
  const places3 = net.conv(net.reshape(v, [1, channels, height, width]), channels, 3, { groups: channels });
  return net.conv(net.add(mixed, places3), channels, 1, { gain: 0.5 });
}

export function yolo11n(net) {
  const attended = (x) => {
    const [keep, half] = net.split(block(net, x, 256, 1, silu), 2);
    let y = net.add(half, placeAttention(net, half));
    y = net.add(y, net.conv(block(net, y, 256, 1, silu), 128, 1, { gain: 0.5 }));
    return block(net, net.concat([keep, y]), 256, 1, silu);
  };
  const separable = (x, channels) =>
    block(net, block(net, x, x.shape[1], 3, { ...silu, groups: x.shape[1] }), channels, 1, silu);
  return yolo(net, {
    stages: [[32, narrow, 64], [64, narrow, 128], [128, nested, 128], [256, nested, 256]].map(
      ([channels, kind, outputs]) => [channels, (x) => c2f(net, x, outputs, 1, true, kind)]),
    top: (x) => attended(pyramid(net, x, 256)),
    neck: (x, channels) => c2f(net, x, channels, 1, true, channels === 256 ? nested : narrow),
    scores: (x) => separable(separable(x, 80), 80),
  });
}

export function unet(net) {
  let x = net.input("image", [1, 3, 256, 256]);
  const twice = (value, channels) => block(net, block(net, value, channels, 3), channels, 3);
  const skipped = [];
  for (const channels of [32, 64, 128, 256]) {
    x = twice(x, channels);
    skipped.push(x);
    x = net.maxPool(x, 2, 2);
  }
  x = twice(x, 512);
  for (const skip of skipped.reverse()) {
    const channels = skip.shape[1];
    x = twice(net.concat([net.convTranspose(x, channels, 2, 2, 0), skip]), channels);
  }
  return net.output(net.unary("sigmoid", net.conv(x, 1, 1)));
}

export function clip(net) {
  const patches = net.conv(net.input("image", [1, 3, 224, 224]), 768, 32, { stride: 32, pad: 0 });
  let x = net.transpose(net.reshape(patches, [768, 49]), [1, 0]);
  x = net.layerNorm(net.bias(x, [49, 768]));
  for (let i = 0; i < 12; ++i) x = transformerLayer(net, x, 12);
  return net.output(net.linear(net.layerNorm(net.slice(x, 0, 0, 1)), 512));
}

// The tower of SmolVLM 256M for one tile: SigLIP's encoder, 4 x 4 states side by side, and the projection.
export function smolvlmTower(net) {
  const patches = net.conv(net.input("tile", [1, 3, 512, 512]), 768, 16, { stride: 16, pad: 0 });
  let x = net.bias(net.transpose(net.reshape(patches, [768, 1024]), [1, 0]), [1024, 768]);
  for (let i = 0; i < 12; ++i) x = transformerLayer(net, x, 12);
  const blocks = net.transpose(net.reshape(net.layerNorm(x), [8, 4, 8, 4, 768]), [0, 2, 1, 3, 4]);
  return net.output(net.linear(net.reshape(blocks, [64, 12288]), 576));
}

export function transformerLayer(net, x, heads, between = (value) => value) {
  const y = net.layerNorm(x);
  x = between(net.add(x, net.attention(y, y, heads)));
  const wide = net.unary("gelu", net.linear(net.layerNorm(x), 4 * x.shape[1]));
  return net.add(x, net.linear(wide, x.shape[1], 0.5));
}

export function generator(net) {
  let x = net.input("noise", [1, 512, 8, 8]);
  for (const channels of [256, 128, 64, 32]) x = net.unary("relu", net.convTranspose(x, channels, 4, 2, 1));
  return net.output(net.unary("tanh", net.conv(x, 3, 3)));
}
