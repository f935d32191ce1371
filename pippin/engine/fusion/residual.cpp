// x · Wᵀ + residual as one node, if only the sum reads the product.
#include "pippin/engine/fusion/fusion.h"
#include "pippin/engine/fusion/match.h"
#include "pippin/mil/ops/op.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Operation;
using mil::Var;

// Whether `var` is a view of a product that nothing else reads.
bool is_own_product(const Builder& builder, const Var* var) {
  while (var != nullptr && var->producer != nullptr && builder.read_once(var)) {
    const Operation& operation = *var->producer;
    if (mil::is_product(operation)) return true;
    if (!mil::keeps_elements(operation)) return false;
    var = operation.input_var("x");
  }
  return false;
}

// The elements of `view` as rows of the product whose result `like` shows, in the same shape;
// nothing if that shows a part of it. A residual in another layout is copied: the norm before or
// after it needs the same copy.
std::optional<View> as_rows(Builder& builder, const View& view, const View& like,
                            const View& product) {
  const std::vector<int64_t> order = memory_order(like);
  const View dense = transpose_view(like, order);
  if (!is_contiguous(dense) || !(dense.offset == product.offset) ||
      !(mil::num_elements(dense.shape) == mil::num_elements(product.shape))) {
    return std::nullopt;
  }
  const View turned = transpose_view(view, order);
  // The last axes whose sizes multiply to the number of columns.
  Dim columns = 1;
  int64_t axes = 0;
  while (axes < turned.rank() && !(columns == product.shape[1])) {
    columns = columns * turned.shape[static_cast<size_t>(turned.rank() - ++axes)];
  }
  if (!(columns == product.shape[1])) return std::nullopt;
  return builder.matrix(turned, axes);
}

}  // namespace

bool fuse_residual(Builder& builder, const Operation& operation) {
  const mil::ValueInfo& sum = builder.info(operation.output());
  for (const bool swapped : {false, true}) {
    const Var* var = operation.input_var(swapped ? "y" : "x");
    const Var* other = operation.input_var(swapped ? "x" : "y");
    if (var == nullptr || other == nullptr || !mil::is_float(sum.type) ||
        builder.info(var).shape != sum.shape || builder.info(other).shape != sum.shape ||
        !is_own_product(builder, var)) {
      continue;
    }
    const View shown = builder.view(var);
    const auto& nodes = builder.nodes();
    const size_t index = writer_of(nodes, shown);
    const DotNode* dot = index < nodes.size() ? nodes[index].as<DotNode>() : nullptr;
    if (dot == nullptr || dot->has_residual) continue;
    const View residual = builder.view_as(builder.view(other), Storage::F32);
    const View product = nodes[index].views[0];
    const auto rows = as_rows(builder, residual, shown, product);
    if (!rows) continue;
    const View y = builder.allocate(Storage::F32, product.shape);
    View result = shown;
    result.buffer = y.buffer;
    Node sum_of_both = nodes[index];
    sum_of_both.as<DotNode>()->has_residual = true;
    sum_of_both.views[0] = y;
    sum_of_both.views.push_back(*rows);
    builder.add(std::move(sum_of_both));
    builder.define_output(operation, result);
    return true;
  }
  return false;
}

}  // namespace pippin::engine
