// Rotary embedding: x * cos + turned(x) * sin, with turned([a, b]) = [-b, a].
//
// a and b are the two halves of x along an axis, or its even and odd elements. cos and sin are as
// wide as x, or half as wide if the program writes [a * cos - b * sin, b * cos + a * sin].
#include <optional>

#include "pippin/engine/fusion/fusion.h"
#include "pippin/engine/fusion/match.h"
#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using mil::Dim;
using mil::Operation;
using mil::Shape;
using mil::Var;

// Two values concatenated along an axis, or interleaved along it.
struct Joined {
  const Var* first = nullptr;
  const Var* second = nullptr;
  int64_t axis = 0;
  bool pairs = false;
};

std::optional<Joined> joined(Builder& builder, const Operation& operation) {
  const std::string& type = operation.type();
  const Operation* join = &operation;
  Joined result;
  if (type == "reshape") {
    // stack along a new last axis, which is then merged with the axis before.
    join = producer(operation.input_var("x"), "stack");
    result.pairs = true;
  } else if (type != "concat") {
    return std::nullopt;
  }
  if (join == nullptr) return std::nullopt;
  const mil::Argument& values = join->inputs().at("values");
  if (values.size() != 2) return std::nullopt;
  const auto* first = std::get_if<Var*>(&values[0]);
  const auto* second = std::get_if<Var*>(&values[1]);
  if (first == nullptr || second == nullptr) return std::nullopt;
  result.first = *first;
  result.second = *second;
  const Shape& shape = builder.info(*first).shape;
  const auto rank = static_cast<int64_t>(shape.size());
  if (rank == 0 || shape != builder.info(*second).shape) return std::nullopt;
  const int64_t axis = int_param(builder, *join, "axis");
  if (type == "concat") {
    result.axis = normalize_axis(axis, rank);
    result.pairs = operation.find_input("interleave") != nullptr &&
                   bool_param(builder, operation, "interleave");
    return result;
  }
  result.axis = rank - 1;
  Shape merged = shape;
  merged.back() = merged.back() * Dim(2);
  const bool last = normalize_axis(axis, rank + 1) == rank;
  return last && builder.info(operation.output()).shape == merged ? std::optional(result)
                                                                  : std::nullopt;
}

// The value whose halves (or even and odd elements) are a and b.
std::optional<View> whole(const View& a, const View& b, int64_t axis, bool pairs) {
  const auto i = static_cast<size_t>(axis);
  View x = a;
  x.shape[i] = a.shape[i] * Dim(2);
  Dim step = a.strides[i] * a.shape[i];
  if (pairs) {
    step = b.offset - a.offset;
    x.strides[i] = step;
    if (!(a.strides[i] == step * Dim(2)) && !(a.shape[i] == Dim(1))) return std::nullopt;
  } else if (a.shape[i] == Dim(1)) {
    // A single element has no stride.
    step = b.offset - a.offset;
    x.strides[i] = step;
  }
  View expected = a;
  expected.offset = a.offset + step;
  return same_elements(expected, b) ? std::optional(x) : std::nullopt;
}

struct Rotary {
  View x;
  int64_t axis = 0;
  bool pairs = false;
  const Var* cos = nullptr;
  const Var* sin = nullptr;
};

// Both operands of a product of two values; nulls for other operations.
std::pair<const Var*, const Var*> factors_of(const Var* var) {
  const Operation* operation = producer(var, "mul");
  if (operation == nullptr) return {nullptr, nullptr};
  return {operation->input_var("x"), operation->input_var("y")};
}

// Calls body(factor, other) for both orders of a product until it returns true.
template <typename Body>
bool either_factor(const Var* var, const Body& body) {
  const auto [x, y] = factors_of(var);
  return x != nullptr && y != nullptr && (body(x, y) || body(y, x));
}

// x * cos + turned(x) * sin.
std::optional<Rotary> sum_of_products(Builder& builder, const Operation& operation) {
  std::optional<Rotary> result;
  const auto match = [&](const Var* along, const Var* turned) {
    return either_factor(turned, [&](const Var* turn, const Var* sin) {
      const Operation* made_by = producer(turn);
      const auto parts = made_by != nullptr ? joined(builder, *made_by) : std::nullopt;
      const Var* b = parts ? negated(builder, parts->first) : nullptr;
      if (b == nullptr) return false;
      const auto x = whole(builder.view(parts->second), builder.view(b), parts->axis, parts->pairs);
      return x && either_factor(along, [&](const Var* factor, const Var* cos) {
               if (builder.info(factor).shape != x->shape ||
                   !same_elements(builder.view(factor), *x)) {
                 return false;
               }
               result = Rotary{*x, parts->axis, parts->pairs, cos, sin};
               return true;
             });
    });
  };
  const Var* left = operation.input_var("x");
  const Var* right = operation.input_var("y");
  return match(left, right) || match(right, left) ? result : std::nullopt;
}

// [a * cos - b * sin, b * cos + a * sin].
std::optional<Rotary> pair_of_sums(Builder& builder, const Operation& operation) {
  const auto parts = joined(builder, operation);
  if (!parts) return std::nullopt;
  const Operation* difference = producer(parts->first, "sub");
  const Operation* sum = producer(parts->second, "add");
  if (difference == nullptr || sum == nullptr) return std::nullopt;
  std::optional<Rotary> result;
  const auto is_product = [&](const Var* var, const Var* x, const Var* y) {
    return either_factor(var, [&](const Var* a, const Var* b) {
      return same_value(builder, a, x) && same_value(builder, b, y);
    });
  };
  const Var* left = sum->input_var("x");
  const Var* right = sum->input_var("y");
  either_factor(difference->input_var("x"), [&](const Var* a, const Var* cos) {
    return either_factor(difference->input_var("y"), [&](const Var* b, const Var* sin) {
      const bool fits = (is_product(left, b, cos) && is_product(right, a, sin)) ||
                        (is_product(right, b, cos) && is_product(left, a, sin));
      if (!fits || builder.info(a).shape != builder.info(parts->first).shape ||
          builder.info(b).shape != builder.info(parts->first).shape) {
        return false;
      }
      const auto x = whole(builder.view(a), builder.view(b), parts->axis, parts->pairs);
      if (x) result = Rotary{*x, parts->axis, parts->pairs, cos, sin};
      return x.has_value();
    });
  });
  return result;
}

// cos or sin in fp32 with `order` for the axes of x, the last of unit stride; nothing if its shape
// does not broadcast along other axes only.
std::optional<View> angles(Builder& builder, const Var* var, const View& x,
                           const std::vector<int64_t>& order) {
  View view = builder.view_as(builder.view(var), Storage::F32);
  const size_t rank = x.shape.size();
  if (view.shape.size() > rank) return std::nullopt;
  Shape shape(rank - view.shape.size(), Dim(1));
  shape.insert(shape.end(), view.shape.begin(), view.shape.end());
  view = transpose_view(broadcast_view(view, shape), order);
  const Shape wide = transpose_view(x, order).shape;
  const bool full = view.shape.back() == wide.back();
  if (!full && !(view.shape.back() * Dim(2) == wide.back())) return std::nullopt;
  for (size_t i = 0; i + 1 < rank; ++i) {
    if (view.shape[i] == Dim(1)) continue;
    // Sizes of other inputs that may be equal are: the product with x requires it.
    if (known_equal(view.shape[i], wide[i]) == false) return std::nullopt;
    view.shape[i] = wide[i];
  }
  if (!(view.strides.back() == Dim(1))) view = builder.contiguous(view);
  shape = wide;
  shape.back() = view.shape.back();
  return broadcast_view(view, shape);
}

bool lie_alike(const View& a, const View& b) {
  View moved = b;
  moved.buffer = a.buffer;
  moved.offset = a.offset;
  return same_elements(a, moved);
}

}  // namespace

bool fuse_rotary(Builder& builder, const Operation& operation) {
  const auto rotary = operation.type() == "add" ? sum_of_products(builder, operation)
                                                : pair_of_sums(builder, operation);
  if (!rotary || builder.info(operation.output()).shape != rotary->x.shape) return false;
  std::vector<int64_t> order = memory_order(rotary->x);
  std::erase(order, rotary->axis);
  order.push_back(rotary->axis);
  const auto cos = angles(builder, rotary->cos, rotary->x, order);
  const auto sin = angles(builder, rotary->sin, rotary->x, order);
  if (!cos || !sin || !lie_alike(*cos, *sin)) return false;
  View x = transpose_view(builder.view_as(rotary->x, Storage::F32), order);
  if (!(x.strides.back() == Dim(1))) x = builder.contiguous(x);
  const View y = builder.allocate(Storage::F32, x.shape);
  builder.emit(RotaryNode{rotary->pairs}, {y, x, *cos, *sin});
  builder.define_output(operation, transpose_view(y, inverse(order)));
  return true;
}

}  // namespace pippin::engine
