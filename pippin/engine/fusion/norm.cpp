// RMS norms: every way to write x / sqrt(mean(x^2) + epsilon) * gamma.
//
// The square: pow(x, 2), square(x), x * x. The mean: reduce_mean, or a sum times 1 / n. The root:
// rsqrt with epsilon added before or inside, pow(-0.5), inverse or real_div of sqrt or pow(0.5).
// The products in any order, gamma before or after. Without the mean it is an L2 norm, which is an
// RMS norm times 1 / sqrt(n) with another epsilon.
//
// A layer norm over [x, -x] has the mean 0 and the variance mean(x^2): its first half is the norm
// of x. (ANEMLL writes it in this way: the Neural Engine has a layer norm that does not overflow.)
#include <algorithm>
#include <cmath>
#include <optional>

#include "pippin/base/error.h"
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

// number / sqrt(mean(x^2) + epsilon), the mean along one axis of x.
struct Statistic {
  const Var* x = nullptr;
  int64_t axis = 0;
  double epsilon = 0;
  double number = 1;
};

int64_t rank_of(const Builder& builder, const Var* var) {
  return static_cast<int64_t>(builder.info(var).shape.size());
}
const Dim& size_of(const Builder& builder, const Var* var, int64_t axis) {
  return builder.info(var).shape[static_cast<size_t>(axis)];
}

// During construction, `number` * mean(x^2) + epsilon.
std::optional<Statistic> mean_of_squares(Builder& builder, const Var* var) {
  const Operation* operation = producer(unreshaped(var));
  if (operation == nullptr) return std::nullopt;
  const std::string& type = operation->type();
  if (type == "mul" || type == "real_div") {
    const auto scaled = with_number(builder, *operation);
    if (!scaled || (type == "real_div" && scaled->number_first)) return std::nullopt;
    if (producer(unreshaped(scaled->var), type) != nullptr) return std::nullopt;  // one is enough
    auto sum = mean_of_squares(builder, scaled->var);
    if (sum) sum->number *= type == "mul" ? scaled->number : 1 / scaled->number;
    return sum;
  }
  const bool mean = type == "reduce_mean", squares = type == "reduce_sum_square";
  if (!mean && !squares && type != "reduce_sum") return std::nullopt;
  const Var* x = operation->input_var("x");
  const mil::Value* axes = operation->constant_input("axes");
  if (!squares) x = squared(builder, x);
  if (x == nullptr || axes == nullptr || axes->type.num_elements() != 1) return std::nullopt;
  Statistic result;
  result.x = uncast(x);
  result.axis = normalize_axis(axes->to_ints().front(), rank_of(builder, x));
  const Dim& n = size_of(builder, x, result.axis);
  if (!n.is_constant() || n.constant() < 1) return std::nullopt;
  if (!mean) result.number = static_cast<double>(n.constant());
  return result;
}

std::optional<Statistic> with_epsilon(Builder& builder, const Var* var) {
  if (const Operation* sum = producer(unreshaped(var), "add")) {
    const auto parts = with_number(builder, *sum);
    if (!parts) return std::nullopt;
    auto mean = mean_of_squares(builder, parts->var);
    if (mean) mean->epsilon += parts->number;
    return mean;
  }
  return mean_of_squares(builder, var);
}

// From number * mean + epsilon under the root to number / sqrt(mean + epsilon).
std::optional<Statistic> rooted(std::optional<Statistic> mean, double more_epsilon = 0) {
  if (!mean || !(mean->number > 0)) return std::nullopt;
  mean->epsilon = (mean->epsilon + more_epsilon) / mean->number;
  if (!(mean->epsilon >= 0)) return std::nullopt;
  mean->number = 1 / std::sqrt(mean->number);
  return mean;
}

// For a divisor.
std::optional<Statistic> root(Builder& builder, const Var* var) {
  const Operation* operation = producer(unreshaped(var));
  if (operation == nullptr) return std::nullopt;
  const bool power = operation->type() == "pow" && builder.number(*operation, "y") == 0.5;
  if (!power && operation->type() != "sqrt") return std::nullopt;
  return rooted(with_epsilon(builder, operation->input_var("x")));
}

// For a factor.
std::optional<Statistic> inverse_root(Builder& builder, const Var* var) {
  const Operation* operation = producer(unreshaped(var));
  if (operation == nullptr) return std::nullopt;
  const std::string& type = operation->type();
  const Var* x = operation->input_var("x");
  if (type == "rsqrt") {
    return rooted(with_epsilon(builder, x), float_param(builder, *operation, "epsilon"));
  }
  if (type == "pow" && builder.number(*operation, "y") == -0.5) {
    return rooted(with_epsilon(builder, x));
  }
  if (type == "inverse" && float_param(builder, *operation, "epsilon") == 0) {
    return root(builder, x);
  }
  if (type == "real_div" && builder.number(*operation, "x") == 1) {
    return root(builder, operation->input_var("y"));
  }
  return std::nullopt;
}

// l2_norm(x) if only one of the last three axes is not 1.
std::optional<Statistic> l2_norm(const Builder& builder, const Operation& operation) {
  const Var* x = operation.input_var("x");
  if (operation.type() != "l2_norm" || x == nullptr) return std::nullopt;
  const int64_t rank = rank_of(builder, x);
  Statistic result;
  result.x = uncast(x);
  result.axis = rank - 1;
  for (int64_t axis = std::max<int64_t>(0, rank - 3), found = 0; axis < rank; ++axis) {
    if (size_of(builder, x, axis) == Dim(1)) continue;
    if (++found > 1 || !size_of(builder, x, axis).is_constant()) return std::nullopt;
    result.axis = axis;
  }
  const auto n = static_cast<double>(size_of(builder, x, result.axis).constant());
  if (n < 1) return std::nullopt;
  result.epsilon = float_param(builder, operation, "epsilon") / n;
  result.number = 1 / std::sqrt(n);
  return result;
}

// Whether a slice or split takes the first elements along `axis`, in order.
bool takes_first(const Builder& builder, const Operation& part, const Var* result, int64_t axis) {
  if (part.type() == "split") return result == part.output(0);
  const std::vector<int64_t> ones(builder.info(result).shape.size(), 1);
  const auto i = static_cast<size_t>(axis);
  const std::vector<int64_t> begin = ints_param(builder, part, "begin");
  const std::vector<int64_t> stride = ints_param(builder, part, "stride", ones);
  const mil::Value* value = part.constant_input("begin_mask");
  const std::vector<double> mask = value != nullptr ? value->to_doubles() : std::vector<double>();
  const bool from_start = i < begin.size() && (begin[i] == 0 || (i < mask.size() && mask[i] != 0));
  return from_start && i < stride.size() && stride[i] == 1;
}

// x's half of layer_norm([x, -x]).
std::optional<Statistic> doubled(Builder& builder, const Var* var) {
  const Operation* half = producer(var);
  if (half == nullptr) return std::nullopt;
  const std::string& type = half->type();
  if (type != "slice_by_index" && type != "slice_by_size" && type != "split") return std::nullopt;
  const Operation* norm = producer(half->input_var("x"), "layer_norm");
  if (norm == nullptr || norm->find_input("gamma") != nullptr ||
      norm->find_input("beta") != nullptr) {
    return std::nullopt;
  }
  const Operation* concat = producer(norm->input_var("x"), "concat");
  const mil::Value* axes = norm->constant_input("axes");
  if (concat == nullptr || axes == nullptr || axes->type.num_elements() != 1) return std::nullopt;
  const mil::Argument& values = concat->inputs().at("values");
  const bool interleave =
      concat->find_input("interleave") != nullptr && bool_param(builder, *concat, "interleave");
  if (values.size() != 2 || interleave) return std::nullopt;
  const auto* x = std::get_if<Var*>(&values[0]);
  const auto* minus = std::get_if<Var*>(&values[1]);
  if (x == nullptr || minus == nullptr || !same_value(builder, *x, negated(builder, *minus))) {
    return std::nullopt;
  }
  const int64_t rank = rank_of(builder, *x);
  Statistic result;
  result.x = uncast(*x);
  result.axis = normalize_axis(axes->to_ints().front(), rank);
  result.epsilon = float_param(builder, *norm, "epsilon");
  const bool fits = normalize_axis(int_param(builder, *concat, "axis"), rank) == result.axis &&
                    size_of(builder, *x, result.axis).is_constant() &&
                    builder.info(var).shape == builder.info(*x).shape &&
                    takes_first(builder, *half, uncast(var), result.axis);
  return fits ? std::optional(result) : std::nullopt;
}

// A value that is a norm without gamma, as one factor.
std::optional<Statistic> whole_norm(Builder& builder, const Var* var) {
  if (const Operation* operation = producer(var, "l2_norm")) return l2_norm(builder, *operation);
  return doubled(builder, var);
}

// The shape with `rank` axes, with ones in front.
Shape with_rank(const Shape& shape, size_t rank) {
  Shape result(rank - std::min(rank, shape.size()), Dim(1));
  result.insert(result.end(), shape.begin(), shape.end());
  return result;
}

bool is_along(const Shape& shape, int64_t axis) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (static_cast<int64_t>(i) != axis && !(shape[i] == Dim(1))) return false;
  }
  return true;
}

// The product of the constants along the norm's axis, [n]; nothing if a factor is something else.
// An empty vector is 1.
constexpr int64_t kMaxGamma = int64_t{1} << 20;
std::optional<std::vector<float>> gamma_of(Builder& builder, const Statistic& norm, double number,
                                           const std::vector<const Var*>& factors) {
  const size_t rank = builder.info(norm.x).shape.size();
  const auto n = static_cast<size_t>(size_of(builder, norm.x, norm.axis).constant());
  std::vector<float> gamma;
  if (number != 1) gamma.assign(n, static_cast<float>(number));
  for (const Var* factor : factors) {
    const Shape& own = builder.info(factor).shape;
    if (own.size() > rank || !is_along(with_rank(own, rank), norm.axis)) return std::nullopt;
    if (!builder.is_lowered(factor) && mil::constant_of(factor) == nullptr) return std::nullopt;
    const auto values = builder.constant_floats(builder.view(factor), kMaxGamma);
    if (!values || values->size() != n) return std::nullopt;
    if (gamma.empty()) {
      gamma = *values;
    } else {
      for (size_t i = 0; i < n; ++i) gamma[i] *= (*values)[i];
    }
  }
  return gamma;
}

void emit_norm(Builder& builder, const Var* result, const Statistic& norm,
               const std::vector<float>& gamma) {
  const View x = builder.view_as(builder.view(norm.x), Storage::F32);
  // Rows in the order that they have in memory.
  std::vector<int64_t> order = memory_order(x);
  std::erase(order, norm.axis);
  order.push_back(norm.axis);
  const View turned = transpose_view(x, order);
  const View y = builder.allocate(Storage::F32, turned.shape);
  std::vector<View> views = {*matrix_view(y, 1), builder.matrix(turned, 1)};
  if (!gamma.empty()) {
    const auto bytes = std::as_bytes(std::span(gamma));
    views.push_back(builder.constant(Storage::F32, {Dim(static_cast<int64_t>(gamma.size()))},
                                     {bytes.begin(), bytes.end()}));
  }
  builder.emit(RmsNormNode{static_cast<float>(norm.epsilon)}, std::move(views));
  builder.define(result, transpose_view(y, inverse(order)));
}

// The product as a norm whose statistic is `factor` (or divisor) of it; x is then one of its
// factors, and all others lie along the axis.
bool fuse_with(Builder& builder, const Operation& operation, const Var* factor,
               const Statistic& norm, bool whole) {
  const auto product = as_product(builder, operation, [&](const Var* var) {
    return var == factor || (!whole && same_value(builder, var, norm.x));
  });
  if (!product || builder.info(operation.output()).shape != builder.info(norm.x).shape) {
    return false;
  }
  int statistics = 0, inputs = 0;
  std::vector<const Var*> others;
  for (const Var* var : product->factors) {
    if (var == factor) {
      ++statistics;
    } else if (!whole && same_value(builder, var, norm.x)) {
      ++inputs;
    } else {
      others.push_back(var);
    }
  }
  for (const Var* var : product->divisors) {
    if (var != factor) return false;
    ++statistics;
  }
  if (statistics != 1 || inputs != (whole ? 0 : 1)) return false;
  const auto gamma = gamma_of(builder, norm, product->number * norm.number, others);
  if (gamma) emit_norm(builder, operation.output(), norm, *gamma);
  return gamma.has_value();
}

// Whether the statistic of each row is multiplied with that row: its shape must match.
bool meets_its_rows(const Builder& builder, const Var* factor, const Statistic& norm) {
  Shape expected = builder.info(norm.x).shape;
  expected[static_cast<size_t>(norm.axis)] = Dim(1);
  const Shape& own = builder.info(factor).shape;
  return own.size() <= expected.size() && with_rank(own, expected.size()) == expected;
}

}  // namespace

bool fuse_norm(Builder& builder, const Operation& operation) {
  if (operation.type() == "l2_norm") {
    const auto norm = l2_norm(builder, operation);
    const auto gamma = norm ? gamma_of(builder, *norm, norm->number, {}) : std::nullopt;
    if (gamma) emit_norm(builder, operation.output(), *norm, *gamma);
    return gamma.has_value();
  }
  const auto product = as_product(builder, operation);
  if (!product) return false;
  for (const Var* factor : product->factors) {
    const auto whole = whole_norm(builder, factor);
    if (whole && fuse_with(builder, operation, factor, *whole, /*whole=*/true)) return true;
    const auto norm = inverse_root(builder, factor);
    if (norm && meets_its_rows(builder, factor, *norm) &&
        fuse_with(builder, operation, factor, *norm, /*whole=*/false)) {
      return true;
    }
  }
  for (const Var* divisor : product->divisors) {
    const auto norm = root(builder, divisor);
    if (norm && meets_its_rows(builder, divisor, *norm) &&
        fuse_with(builder, operation, divisor, *norm, /*whole=*/false)) {
      return true;
    }
  }
  return false;
}

bool fuse_doubled_norm(Builder& builder, const Operation& operation) {
  const auto half = doubled(builder, operation.output());
  if (!half) return false;
  if (operation.outputs().size() > 1) lower_plainly(builder, operation);  // for the other half
  emit_norm(builder, operation.output(), *half, {});
  return true;
}

}  // namespace pippin::engine
