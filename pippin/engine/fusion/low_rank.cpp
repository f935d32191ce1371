// x · Wᵀ + (s * (x · Aᵀ)) · Bᵀ, a layer with the change of an adapter, as one product.

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "pippin/engine/fusion/fusion.h"
#include "pippin/engine/fusion/match.h"
#include "pippin/engine/fusion/own_product.h"
#include "pippin/engine/weights/low_rank_panels.h"
#include "pippin/engine/weights/weight_type.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Operation;
using mil::Var;

// Whether the bias is absent or zeros, which recorded programs have.
bool has_no_bias(Builder& builder, const Operation& operation) {
  if (operation.find_input("bias") == nullptr) return true;
  const View bias = builder.view(operation, "bias");
  constexpr int64_t kMost = int64_t{1} << 20;
  const auto values = builder.constant_floats(bias, kMost);
  return values && std::all_of(values->begin(), values->end(), [](float v) { return v == 0; });
}

// The operation if it is `linear` without a bias, with a dense constant weight [rows, columns] as
// it is stored; only one operation reads its result.
struct Narrow {
  const Operation* operation = nullptr;
  View weight;

  int64_t rows() const { return weight.shape[0].constant(); }
};
std::optional<Narrow> narrow_of(Builder& builder, const Var* var) {
  const Operation* operation = producer(var, "linear");
  if (operation == nullptr || !builder.read_once(operation->output()) ||
      !has_no_bias(builder, *operation)) {
    return std::nullopt;
  }
  const Var* weight = operation->input_var("weight");
  if (weight == nullptr || mil::constant_of(uncast(weight)) == nullptr) return std::nullopt;
  const View view = builder.view(weight);
  if (!builder.is_constant(view) || !is_float(view.storage) || !is_contiguous(view)) {
    return std::nullopt;
  }
  return Narrow{operation, view};
}

// One number for each rank, as rows of the product.
std::optional<View> numbers_of(Builder& builder, const View& numbers, int64_t ranks, const Dim& m) {
  const auto row = [&](const Dim& count) {
    return reshape_view(builder.view_as(numbers, Storage::F32), {Dim(1), count});
  };
  const Dim count = mil::num_elements(numbers.shape);
  if (!(count == Dim(ranks)) && !(count == Dim(1))) return std::nullopt;
  if (count == Dim(ranks) && !(numbers.shape.empty() || numbers.shape.back() == Dim(ranks))) {
    return std::nullopt;
  }
  const auto view = row(count);
  if (!view) return std::nullopt;
  return broadcast_view(builder.contiguous(broadcast_view(*view, {Dim(1), Dim(ranks)})),
                        {m, Dim(ranks)});
}

// (s * (x · Aᵀ)) · Bᵀ.
struct Change {
  View x, a, s, b;
  int64_t ranks = 0, columns = 0;
  const Var* b_var = nullptr;
};
std::optional<Change> change_of(Builder& builder, const Var* var) {
  const auto b = narrow_of(builder, var);
  if (!b) return std::nullopt;
  Change change;
  change.b = b->weight;
  change.b_var = uncast(b->operation->input_var("weight"));
  change.columns = b->rows();
  const Var* scaled = b->operation->input_var("x");
  const auto finish = [&](const Narrow& a, const View& s) -> std::optional<Change> {
    change.ranks = a.rows();
    change.a = a.weight;
    change.x = builder.matrix(builder.floats(*a.operation, "x"), 1);
    const auto numbers = numbers_of(builder, s, change.ranks, change.x.shape[0]);
    if (!numbers || !(change.b.shape[1] == Dim(change.ranks))) return std::nullopt;
    change.s = *numbers;
    return change;
  };
  if (const auto a = narrow_of(builder, scaled)) {
    const float one = 1;
    std::vector<std::byte> bytes(sizeof(one));
    std::memcpy(bytes.data(), &one, sizeof(one));
    return finish(*a, builder.constant(Storage::F32, {Dim(1)}, std::move(bytes)));
  }
  const Operation* product = producer(scaled, "mul");
  if (product == nullptr || !builder.read_once(product->output())) return std::nullopt;
  for (const bool swapped : {false, true}) {
    const auto a = narrow_of(builder, product->input_var(swapped ? "y" : "x"));
    if (a) return finish(*a, builder.view(*product, swapped ? "x" : "y"));
  }
  return std::nullopt;
}

View panels(Builder& builder, const Change& change) {
  const Buffer& buffer = builder.buffers()[static_cast<size_t>(change.b.buffer)];
  const int64_t offset = change.b.offset.constant() * element_size(change.b.storage);
  LowRankPanels made = low_rank_panels({change.b_var, weight_type(change.b.storage),
                                        buffer.data + offset, change.columns, change.ranks},
                                       builder.opset());
  return builder.shared_constant(change.b.storage, made.shape, std::move(made.bytes));
}

bool add_change(Builder& builder, const Operation& sum, const Var* own, const Var* other) {
  const mil::ValueInfo& info = builder.info(sum.output());
  if (own == nullptr || other == nullptr || builder.info(other).shape != info.shape) return false;
  auto product = own_product(builder, own, info);
  if (!product) return false;
  DotNode::Product& changed = product->as<DotNode>()->products.front();
  if (changed.change || producer(own, "linear") == nullptr) return false;
  const auto change = change_of(builder, other);
  if (!change || change->columns != changed.n || !same_elements(change->x, product->x())) {
    return false;
  }
  changed.change = LowRank{change->ranks, change->a.storage, change->b.storage};
  product->views.insert(product->views.end(), {change->a, change->s, panels(builder, *change)});
  define_sum(builder, sum, own, std::move(*product));
  return true;
}

}  // namespace

bool fuse_low_rank(Builder& builder, const Operation& root) {
  const Var* x = root.input_var("x");
  const Var* y = root.input_var("y");
  return add_change(builder, root, x, y) || add_change(builder, root, y, x);
}

}  // namespace pippin::engine
