// Nets for sounds and sequences, in the sizes of the originals.

import { transformerLayer } from "./vision.mjs";

export function basicPitch(net) {
  const relu = (x) => net.unary("relu", x), sigmoid = (x) => net.unary("sigmoid", x);
  const x = net.input("harmonics", [1, 8, 172, 264]);
  const wide = relu(net.conv(relu(net.conv(x, 16, 5)), 8, [3, 39]));
  const contour = sigmoid(net.conv(wide, 1, 5));
  const note = sigmoid(net.conv(relu(net.conv(contour, 32, 7, { stride: [1, 3], pad: [[3, 3], [2, 2]] })), 1, [7, 3]));
  const onset = relu(net.conv(x, 32, 5, { stride: [1, 3], pad: [[2, 2], [1, 1]] }));
  return net.output(contour, note, sigmoid(net.conv(net.concat([note, onset]), 1, 3)));
}

export function whisperEncoder(net) {
  const gelu = (x) => net.unary("gelu", x);
  const x = net.input("mel", [1, 80, 3000]);
  const y = gelu(net.conv(gelu(net.conv(x, 512, 3)), 512, 3, { stride: 2, pad: 1 }));
  let tokens = net.bias(net.transpose(net.reshape(y, [512, 1500]), [1, 0]), [1500, 512]);
  for (let i = 0; i < 6; ++i) tokens = transformerLayer(net, tokens, 8);
  return net.output(net.layerNorm(tokens));
}

// One token against 63 previous ones and 1500 frames, both given as keys and values.
export function whisperDecoderStep(net) {
  let x = net.input("token", [1, 512]);
  const heads = (value) => net.transpose(net.reshape(value, [1, 8, 64]), [1, 0, 2]);
  for (let i = 0; i < 6; ++i) {
    const given = (name, shape) => net.input(`${name}${i}`, shape);
    const y = net.layerNorm(x);
    const q = net.scale(heads(net.linear(y, 512)), 1 / 8);
    const k = net.concat([given("keys", [8, 64, 63]), net.reshape(net.linear(y, 512), [8, 64, 1])], 2);
    const v = net.concat([given("values", [8, 63, 64]), heads(net.linear(y, 512))], 1);
    x = net.add(x, net.attended(q, k, v));
    const cross = net.scale(heads(net.linear(net.layerNorm(x), 512)), 1 / 8);
    x = net.add(x, net.attended(cross, given("frame_keys", [8, 64, 1500]), given("frame_values", [8, 1500, 64])));
    x = net.add(x, net.linear(net.unary("gelu", net.linear(net.layerNorm(x), 2048)), 512, 0.5));
  }
  return net.output(net.linear(net.layerNorm(x), 51865));
}

export function conformer(net) {
  let x = net.input("frames", [200, 256]);
  const feedForward = (value) => net.add(value, net.scale(
    net.linear(net.unary("silu", net.linear(net.layerNorm(value), 1024)), 256), 0.5));
  for (let i = 0; i < 4; ++i) {
    x = feedForward(x);
    const y = net.layerNorm(x);
    x = net.add(x, net.attention(y, y, 4));
    const channels = net.reshape(net.transpose(net.layerNorm(x), [1, 0]), [1, 256, 200]);
    const [value, gate] = net.split(net.conv(channels, 512, 1), 2);
    const mixed = net.conv(net.mul(value, net.unary("sigmoid", gate)), 256, 31, { groups: 256 });
    const back = net.conv(net.unary("silu", mixed), 256, 1, { gain: 0.5 });
    x = net.layerNorm(feedForward(net.add(x, net.transpose(net.reshape(back, [256, 200]), [1, 0]))));
  }
  return net.output(x);
}

export function lstm(net) {
  let x = net.input("frames", [100, 1, 128]);
  for (let i = 0; i < 2; ++i) x = net.lstm(x, 256);
  return net.output(net.linear(x, 64));
}
