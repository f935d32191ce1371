// Text encoders, in the sizes of the originals: their layers, after the embeddings.

// 32 texts of 128 tokens, post-norm.
function bert(net, width, heads, layers = 12, texts = 32, length = 128) {
  const size = width / heads;
  const split = (value, perm) => net.transpose(net.reshape(value, [texts, length, heads, size]), perm);
  let x = net.layerNorm(net.input("embeddings", [texts, length, width]));
  for (let i = 0; i < layers; ++i) {
    const q = split(net.scale(net.linear(x, width), size ** -0.5), [0, 2, 1, 3]);
    const k = split(net.linear(x, width), [0, 2, 3, 1]), v = split(net.linear(x, width), [0, 2, 1, 3]);
    const mixed = net.transpose(net.matmul(net.softmax(net.matmul(q, k), -1), v), [0, 2, 1, 3]);
    x = net.layerNorm(net.add(x, net.linear(net.reshape(mixed, [texts, length, width]), width)));
    x = net.layerNorm(net.add(x, net.linear(net.unary("gelu", net.linear(x, 4 * width)), width, 0.5)));
  }
  return net.output(net.slice(x, 1, 0, 1));
}

export const bgeSmall = (net) => bert(net, 384, 12);
export const bgeBase = (net) => bert(net, 768, 12);
