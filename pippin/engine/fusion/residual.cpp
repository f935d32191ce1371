// x · Wᵀ + residual as one node, if only the sum reads the product.
#include <optional>
#include <utility>

#include "pippin/engine/fusion/fusion.h"
#include "pippin/engine/fusion/own_product.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Operation;
using mil::Var;

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

// Whether the product reads narrower rows than the other one.
bool is_narrower(const std::optional<Node>& product, const std::optional<Node>& other) {
  return product && other && product->x().shape[1].upper() < other->x().shape[1].upper();
}

// Adds `other` to the product that `var` shows.
bool add_to_product(Builder& builder, const Operation& operation, const Var* var,
                    const std::optional<Node>& product, const Var* other) {
  if (!product) return false;
  const View shown = builder.view(var);
  const View residual = builder.view_as(builder.view(other), Storage::F32);
  const auto rows = as_rows(builder, residual, shown, product->views[0]);
  if (!rows) return false;
  Node both = *product;
  both.as<DotNode>()->has_residual = true;
  both.views.push_back(*rows);
  define_sum(builder, operation, var, std::move(both));
  return true;
}

}  // namespace

bool fuse_residual(Builder& builder, const Operation& operation) {
  const mil::ValueInfo& sum = builder.info(operation.output());
  const Var* x = operation.input_var("x");
  const Var* y = operation.input_var("y");
  if (x == nullptr || y == nullptr || !mil::is_float(sum.type) ||
      builder.info(x).shape != sum.shape || builder.info(y).shape != sum.shape) {
    return false;
  }
  // Of two products the narrower one adds the other: an adapter's change of low rank adds the
  // layer's own product, which is still merged with those that read the same input.
  const std::optional<Node> of_x = own_product(builder, x, sum),
                            of_y = own_product(builder, y, sum);
  const auto add_x = [&] { return add_to_product(builder, operation, x, of_x, y); };
  const auto add_y = [&] { return add_to_product(builder, operation, y, of_y, x); };
  return is_narrower(of_y, of_x) ? add_y() || add_x() : add_x() || add_y();
}

}  // namespace pippin::engine
