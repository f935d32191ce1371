// A mixture of experts as one step (weights/experts_step.h):
//
//   hidden = activation(x · gateᵀ) * (x · upᵀ)         gate, up [experts, n, k] of x [1, rows, k]
//   out    = sum over experts of (hidden · downᵀ) * weights
//
// with biases, bounds and a weight of the input instead of the result as in ExpertsSpec; the
// matrices are used in place or gathered by expert index. Terms with a weight of 0 are not
// computed, whatever computed the weights.
//
// The operations in between would compute all experts, and expand compressed weights: they are
// deferred until an operation needs their results, which never happens if the whole pattern is
// matched.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "pippin/engine/fusion/attention_product.h"
#include "pippin/engine/fusion/fusion.h"
#include "pippin/engine/fusion/match.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/engine/weights/e4m7_weight.h"
#include "pippin/engine/weights/weight_stack.h"
#include "pippin/engine/weights/weight_type.h"
#include "pippin/mil/derived_source.h"
#include "pippin/mil/ops/op.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Operation;
using mil::Shape;
using mil::Var;

bool is_compressed(const Var* var) {
  return var != nullptr && var->producer != nullptr &&
         mil::has_trait(*var->producer, mil::Trait::Compressed);
}

// A weight of several matrices, perhaps only some of them.
struct Stack {
  const Var* weight = nullptr;   // [experts, n, k]
  const Var* indices = nullptr;  // null: all
};

std::optional<Stack> stack_of(Builder& builder, const Var* var) {
  Stack stack{uncast(var)};
  if (const Operation* gather = producer(var, "gather")) {
    stack.indices = gather->input_var("indices");
    if (stack.indices == nullptr || builder.info(stack.indices).shape.size() != 1 ||
        int_param(builder, *gather, "axis") != 0) {
      return std::nullopt;
    }
    stack.weight = uncast(gather->input_var("x"));
  }
  if (stack.weight == nullptr ||
      (mil::constant_of(stack.weight) == nullptr && !is_compressed(stack.weight))) {
    return std::nullopt;
  }
  const auto shape = mil::constant_shape(builder.info(stack.weight).shape);
  if (!shape || shape->size() != 3 || shape->front() < 2 ||
      !mil::is_float(builder.info(stack.weight).type)) {
    return std::nullopt;
  }
  return stack;
}

bool is_waiting(const Builder& builder, const Var* var) {
  return var != nullptr && !is_compressed(var) && builder.is_deferred(var);
}

// Whether only a match should compute the operation's result.
bool waits(Builder& builder, const Operation& operation) {
  static constexpr const char* kBetween[] = {"add",     "cast", "clip",    "gelu",
                                             "minimum", "mul",  "sigmoid", "silu"};
  const std::string& type = operation.type();
  if (type == "gather") {
    const Var* x = operation.input_var("x");
    return x != nullptr && stack_of(builder, operation.output()).has_value();
  }
  if (type == "matmul") {
    const Var *x = operation.input_var("x"), *y = operation.input_var("y");
    if (x == nullptr || y == nullptr || builder.info(x).shape.size() != 3) return false;
    return stack_of(builder, y) &&
           (is_waiting(builder, x) || builder.info(x).shape.front() == Dim(1));
  }
  const bool between = std::any_of(std::begin(kBetween), std::end(kBetween),
                                   [&](const char* one) { return type == one; });
  return between && (is_waiting(builder, operation.input_var("x")) ||
                     is_waiting(builder, operation.input_var("y")));
}

// One input of the hidden layer: [[[x · matrixᵀ] * weights] + bias], then the operations that the
// caller removes.
struct Entry {
  Stack matrix, bias;
  const Var* x = nullptr;
  const Var* weights = nullptr;
};

class Matcher {
 public:
  explicit Matcher(Builder& builder) : builder_(builder) {}

  bool match(const Operation& root) {
    if (root.type() != "reduce_sum" || !bool_param(builder_, root, "keep_dims") ||
        ints_param(builder_, root, "axes") != std::vector<int64_t>{0}) {
      return false;
    }
    const Var* y = root.input_var("x");
    if (!is_waiting(builder_, uncast(y)) && !is_waiting(builder_, y)) return false;
    if (const auto weighted = with_waiting(y, "mul")) {
      y = weighted->waiting;
      weights = weighted->other;
    }
    if (const auto sum = with_waiting(y, "add")) {
      const auto bias = stack_of(builder_, sum->other);
      if (!bias) return false;
      down_bias = *bias;
      y = sum->waiting;
    }
    const Var* hidden = nullptr;
    if (!take_product(y, hidden, down)) return false;
    const Operation* product = producer(hidden, "mul");
    if (product == nullptr) return false;
    return take_hidden(product->input_var("x"), product->input_var("y")) ||
           take_hidden(product->input_var("y"), product->input_var("x"));
  }

  Entry gate, up;
  Stack down, down_bias;
  const Var* weights = nullptr;
  bool scales_input = false;
  kernels::GateOp activation = kernels::GateOp::Silu;
  std::optional<double> limit;
  double shift = 0;

 private:
  struct Sides {
    const Var *waiting, *other;
  };
  std::optional<Sides> with_waiting(const Var* var, const char* type) {
    const Operation* operation = producer(var, type);
    if (operation == nullptr) return std::nullopt;
    const Var *x = operation->input_var("x"), *y = operation->input_var("y");
    if (x == nullptr || y == nullptr) return std::nullopt;
    const auto waiting = [&](const Var* side) {
      return is_waiting(builder_, side) && producer(side, "gather") == nullptr;
    };
    if (waiting(x) == waiting(y)) return std::nullopt;
    return waiting(x) ? Sides{x, y} : Sides{y, x};
  }

  bool take_product(const Var* var, const Var*& x, Stack& matrix) {
    const Operation* product = producer(var, "matmul");
    if (product == nullptr || bool_param(builder_, *product, "transpose_x") ||
        !bool_param(builder_, *product, "transpose_y")) {
      return false;
    }
    const auto stack = stack_of(builder_, product->input_var("y"));
    x = product->input_var("x");
    if (!stack || x == nullptr) return false;
    matrix = *stack;
    return true;
  }

  bool take_entry(const Var* var, Entry& entry) {
    if (const auto sum = with_waiting(var, "add")) {
      const auto bias = stack_of(builder_, sum->other);
      if (!bias) return false;
      entry.bias = *bias;
      var = sum->waiting;
    }
    if (const auto weighted = with_waiting(var, "mul")) {
      entry.weights = weighted->other;
      var = weighted->waiting;
    }
    return take_product(var, entry.x, entry.matrix);
  }

  static std::optional<kernels::GateOp> gate_op(Builder& builder, const Operation& operation) {
    if (operation.type() == "silu") return kernels::GateOp::Silu;
    if (operation.type() == "sigmoid") return kernels::GateOp::Sigmoid;
    if (operation.type() != "gelu") return std::nullopt;
    const std::string mode = string_param(builder, operation, "mode");
    return mode == "EXACT"                ? kernels::GateOp::Gelu
           : mode == "TANH_APPROXIMATION" ? kernels::GateOp::GeluTanh
                                          : kernels::GateOp::GeluSigmoid;
  }

  bool take_hidden(const Var* activated, const Var* other) {
    const Operation* function = producer(activated);
    const auto op = function != nullptr ? gate_op(builder_, *function) : std::nullopt;
    if (!op) return false;
    gate = up = {};
    activation = *op;
    limit.reset();
    shift = 0;
    const Var* var = function->input_var("x");
    if (const Operation* least = producer(var, "minimum")) {
      const bool swapped = is_waiting(builder_, least->input_var("y"));
      limit = constant_number(*least, swapped ? "x" : "y");
      var = least->input_var(swapped ? "y" : "x");
      if (!limit) return false;
    }
    if (!take_entry(var, gate)) return false;
    if (const Operation* sum = producer(other, "add")) {
      for (const char* side : {"x", "y"}) {
        const auto number = constant_number(*sum, side);
        if (!number) continue;
        shift = *number;
        other = sum->input_var(*side == 'x' ? "y" : "x");
        break;
      }
    }
    if (const Operation* clip = producer(other, "clip")) {
      const double most = float_param(builder_, *clip, "beta");
      if (float_param(builder_, *clip, "alpha") != -most || limit != most) return false;
      other = clip->input_var("x");
    } else if (limit) {
      return false;
    }
    if (!take_entry(other, up) || gate.x != up.x || gate.weights != up.weights) return false;
    scales_input = gate.weights != nullptr;
    if (scales_input == (weights != nullptr)) return false;
    if (scales_input) weights = gate.weights;
    return true;
  }

  Builder& builder_;
};

// Consecutive halves from `data` on if 12 bits are enough for them; null for others.
std::shared_ptr<const E4M7Weight> narrow_matrices(Builder& builder, const Var* weight,
                                                  Storage storage, const std::byte* data) {
  const bool half = storage == Storage::F16 || storage == Storage::BF16;
  if (!half || !builder.target().takes_narrow || builder.precision() != Precision::Fast) {
    return nullptr;
  }
  const auto shape = *mil::constant_shape(builder.info(weight).shape);
  return narrow_weight({weight, weight_type(storage), data, shape[0] * shape[1], shape[2]},
                       builder.opset(), builder.cache());
}

// A weight's matrices in the form in which it is kept.
std::optional<WeightStack> matrices_of(Builder& builder, const Stack& stack) {
  const auto shape = *mil::constant_shape(builder.info(stack.weight).shape);
  const int64_t experts = shape[0], n = shape[1], k = shape[2];
  if (const auto quantized = builder.quantized(stack.weight)) {
    if (!stacked_matrix(*quantized, experts, n, k)) return std::nullopt;
    return WeightStack{experts, n, k, quantized};
  }
  const auto bytes_of = [&](Storage storage) { return n * k * element_size(storage); };
  std::vector<const std::byte*> places;
  // Each in place in a checkpoint.
  const mil::Value* value = mil::constant_of(stack.weight);
  const auto native = value != nullptr ? native_storage(value->type.data_type) : std::nullopt;
  if (native && is_float(*native) && value->source != nullptr) {
    const int64_t bytes = bytes_of(*native);
    const std::vector<ByteSpan> pieces = mil::pieces_of(*value->source);
    if (pieces.size() == 1 && static_cast<int64_t>(pieces[0].size()) == experts * bytes) {
      if (auto narrow = narrow_matrices(builder, stack.weight, *native, pieces[0].data())) {
        return WeightStack{experts, n, k, std::move(narrow)};
      }
    }
    for (const ByteSpan piece : pieces) {
      const auto size = static_cast<int64_t>(piece.size());
      if (size % bytes != 0) {
        places.clear();
        break;
      }
      for (int64_t at = 0; at < size; at += bytes) places.push_back(piece.data() + at);
    }
    if (static_cast<int64_t>(places.size()) == experts) {
      return WeightStack{experts, n, k, DenseStack{*native, std::move(places)}};
    }
    places.clear();
  }
  const View view = builder.contiguous(builder.view(stack.weight));
  if (!builder.is_constant(view) || !is_float(view.storage) || !view.offset.is_constant()) {
    return std::nullopt;
  }
  const std::byte* data = builder.buffers()[static_cast<size_t>(view.buffer)].data +
                          view.offset.constant() * element_size(view.storage);
  for (int64_t i = 0; i < experts; ++i) places.push_back(data + i * bytes_of(view.storage));
  return WeightStack{experts, n, k, DenseStack{view.storage, std::move(places)}};
}

// The number of experts of each row, if the weights tell: the number of indices of the nearest
// one_hot before them.
int64_t chosen_of(Builder& builder, const Var* weights) {
  constexpr int kFarEnough = 8;
  std::vector<const Var*> level = {weights};
  for (int i = 0; i < kFarEnough; ++i) {
    std::vector<const Var*> before;
    for (const Var* var : level) {
      const Operation* operation = var->producer;
      if (operation == nullptr) continue;
      if (operation->type() == "one_hot") {
        const Var* indices = operation->input_var("indices");
        const Dim last = indices != nullptr && !builder.info(indices).shape.empty()
                             ? builder.info(indices).shape.back()
                             : Dim(0);
        return last.is_constant() ? last.constant() : 0;
      }
      for (const auto& [name, argument] : operation->inputs()) {
        if (const Var* input = operation->input_var(name)) before.push_back(input);
      }
    }
    level = std::move(before);
  }
  return 0;
}

bool emit(Builder& builder, const Operation& root, const Matcher& match) {
  const Shape& x_shape = builder.info(match.gate.x).shape;
  const Shape& out_shape = builder.info(root.output()).shape;
  const Shape& weights_shape = builder.info(match.weights).shape;
  const Var* indices = match.gate.matrix.indices;
  const auto same_choice = [&](const Stack& stack) {
    return stack.weight == nullptr || stack.indices == indices;
  };
  if (x_shape.size() != 3 || !(x_shape[0] == Dim(1)) || out_shape.size() != 3 ||
      weights_shape.size() != 3 || !(weights_shape[1] == x_shape[1]) ||
      !(weights_shape[2] == Dim(1)) || !same_choice(match.up.matrix) || !same_choice(match.down) ||
      !same_choice(match.gate.bias) || !same_choice(match.up.bias) ||
      !same_choice(match.down_bias)) {
    return false;
  }
  const auto gate = matrices_of(builder, match.gate.matrix);
  const auto up = matrices_of(builder, match.up.matrix);
  const auto down = matrices_of(builder, match.down);
  if (!gate || !up || !down) return false;
  ExpertsNode node{*gate, *up, *down};
  node.experts = builder.info(match.gate.matrix.weight).shape[0].constant();
  if (!(builder.info(match.up.matrix.weight).shape[0] == Dim(node.experts)) ||
      !(builder.info(match.down.weight).shape[0] == Dim(node.experts)) ||
      node.up.n != node.gate.n || node.up.k != node.gate.k || node.down.k != node.gate.n ||
      !(x_shape[2] == Dim(node.gate.k)) || !(out_shape[2] == Dim(node.down.n)) ||
      !(weights_shape[0] ==
        (indices != nullptr ? builder.info(indices).shape[0] : Dim(node.experts)))) {
    return false;
  }
  node.chosen = chosen_of(builder, match.weights);
  node.activation = match.activation;
  if (match.limit) node.limit = static_cast<float>(*match.limit);
  node.up_shift = static_cast<float>(match.shift);
  node.weights_scale_input = match.scales_input;
  node.has_indices = indices != nullptr;

  std::vector<View> biases;
  const auto take_bias = [&](const Stack& stack, int64_t n, bool& has) {
    if (stack.weight == nullptr) return true;
    if (!(mil::num_elements(builder.info(stack.weight).shape) == Dim(node.experts * n)))
      return false;
    const View view = builder.contiguous(builder.view_as(builder.view(stack.weight), Storage::F32));
    biases.push_back(*reshape_view(view, {Dim(node.experts), Dim(n)}));
    return has = builder.is_constant(view);
  };
  if (!take_bias(match.gate.bias, node.gate.n, node.gate_bias) ||
      !take_bias(match.up.bias, node.up.n, node.up_bias) ||
      !take_bias(match.down_bias, node.down.n, node.down_bias)) {
    return false;
  }
  const View x = builder.matrix(builder.view_as(builder.view(match.gate.x), Storage::F32), 1);
  View by_row = builder.view_as(builder.view(match.weights), Storage::F32);
  by_row.shape = {by_row.shape[1], by_row.shape[0]};
  by_row.strides = {by_row.strides[1], by_row.strides[0]};
  const View weights = builder.matrix(by_row, 1);
  const View out = builder.allocate(Storage::F32, {x.shape[0], Dim(node.down.n)});
  std::vector<View> views = {out, x, weights};
  if (indices != nullptr) {
    views.push_back(builder.contiguous(builder.view_as(builder.view(indices), Storage::I32)));
  }
  views.insert(views.end(), biases.begin(), biases.end());
  builder.emit(std::move(node), std::move(views));
  builder.define_output(root, *reshape_view(out, out_shape));
  return true;
}

}  // namespace

bool fuse_experts(Builder& builder, const Operation& operation) {
  if (waits(builder, operation)) {
    builder.defer(operation.output(), [&] { lower_plainly(builder, operation); });
    return true;
  }
  if (operation.type() != "reduce_sum") return false;
  Matcher matcher(builder);
  return matcher.match(operation) && emit(builder, operation, matcher);
}

}  // namespace pippin::engine
