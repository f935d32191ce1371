#include <algorithm>
#include <optional>

#include "pippin/mx/core/copy.h"
#include "pippin/mx/ops/attention.h"
#include "pippin/mx/ops/shape_ops.h"

namespace pippin::mx {
namespace {

bool is_float(const Node& node) {
  return node.dtype == float32 || node.dtype == float16 || node.dtype == bfloat16;
}

// Whether a node is such an operation, is not computed yet, and has only this user.
bool is_inner(const Ref<Node>& node, std::string_view name) {
  return node->primitive && node->has_one_owner() && node->primitive->name() == name &&
         is_float(*node);
}

std::optional<float> number(const Node& node) {
  if (node.size != 1 || !node.is_available.load(std::memory_order_acquire)) return std::nullopt;
  float value;
  copy_to(node, reinterpret_cast<std::byte*>(&value), float32);
  return value;
}

// The node below a conversion between floats, if there is one.
const Ref<Node>& without_cast(const Ref<Node>& node) {
  return is_inner(node, "astype") && is_float(*node->inputs[0]) ? node->inputs[0] : node;
}

// The node below a factor, which is multiplied into `scale`.
const Ref<Node>& without_factor(const Ref<Node>& node, float& scale) {
  const bool is_quotient = is_inner(node, "divide");
  if (!is_quotient && !is_inner(node, "multiply")) return node;
  for (size_t i = 0; i < (is_quotient ? 1 : 2); ++i) {
    const std::optional<float> factor = number(*node->inputs[1 - i]);
    if (!factor || !(node->inputs[i]->shape == node->shape)) continue;
    scale *= is_quotient ? 1 / *factor : *factor;
    return node->inputs[i];
  }
  return node;
}

struct Scores {
  Ref<Node> q, turned_k, mask;
  float scale = 1;
};

bool find_product(const Ref<Node>& node, Scores& scores) {
  scores.scale = 1;
  const Ref<Node>& product = without_factor(node, scores.scale);
  if (!is_inner(product, "matmul") || product->inputs.size() != 2) return false;
  scores.q = without_factor(product->inputs[0], scores.scale);
  scores.turned_k = product->inputs[1];
  return true;
}

bool find_scores(const Ref<Node>& node, Scores& scores) {
  if (!is_inner(node, "add")) return find_product(node, scores);
  for (size_t i = 0; i < 2; ++i) {
    const Ref<Node>& side = without_cast(node->inputs[i]);
    if (!(side->shape == node->shape) || !find_product(side, scores)) continue;
    scores.mask = node->inputs[1 - i];
    return true;
  }
  return false;
}

}  // namespace

void fuse_attention(Node& product) {
  if (product.shape.size() != 4 || product.inputs.size() != 2 || !is_float(product)) return;
  const Ref<Node>& weights = without_cast(product.inputs[0]);
  if (!is_inner(weights, "softmax")) return;
  Scores scores;
  if (!find_scores(without_cast(weights->inputs[0]), scores)) return;
  const Ref<Node> v = product.inputs[1];
  const Node &q = *scores.q, &k = *scores.turned_k;
  bool fits = q.shape.size() == 4 && k.shape.size() == 4 && v->shape.size() == 4 &&
              k.dtype == v->dtype && product.size > 0 && q.size > 0 && k.size > 0;
  for (size_t i = 0; fits && i < 2; ++i) {
    fits = q.shape[i] == product.shape[i] && k.shape[i] == q.shape[i] && v->shape[i] == q.shape[i];
  }
  if (!fits) return;
  const array keys = swapaxes(array(scores.turned_k), -1, -2);
  const Ref<const Primitive> attention = fast::attention_primitive(scores.scale, false);
  product.inputs.clear();
  product.inputs.reserve(scores.mask ? 4 : 3);
  product.inputs.push_back(std::move(scores.q));
  product.inputs.push_back(keys.node());
  product.inputs.push_back(v);
  if (scores.mask) product.inputs.push_back(std::move(scores.mask));
  product.primitive = attention;
}

}  // namespace pippin::mx
