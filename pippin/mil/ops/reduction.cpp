// Reductions over axes.
#include <algorithm>
#include <cmath>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

Shape reduced_shape(const Shape& shape, const Dims& axes, bool keep) {
  Shape result;
  for (size_t i = 0; i < shape.size(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(i)) != axes.end();
    if (!reduced) {
      result.push_back(shape[i]);
    } else if (keep) {
      result.push_back(Dim(1));
    }
  }
  return result;
}

// Combines two elements of a known integer vector, for shape arithmetic.
using Fold = Dim (*)(const Dim&, const Dim&);
Dim fold_sum(const Dim& a, const Dim& b) {
  return a + b;
}
Dim fold_product(const Dim& a, const Dim& b) {
  return a * b;
}
Dim fold_max(const Dim& a, const Dim& b) {
  return maximum(a, b);
}
Dim fold_min(const Dim& a, const Dim& b) {
  return minimum(a, b);
}

template <Fold fold>
Infos infer_reduction(InferContext& context) {
  const ValueInfo& x = context.input("x");
  const auto rank = static_cast<int64_t>(x.shape.size());
  const Dims axes = axes_or_all(context, "axes", rank);
  ValueInfo result =
      tensor_info(x.type, reduced_shape(x.shape, axes, context.bool_param("keep_dims")));
  if constexpr (fold != nullptr) {
    if (x.elements && rank == 1 && axes.size() == 1 && !x.elements->empty()) {
      Dim total = x.elements->front();
      for (size_t i = 1; i < x.elements->size(); ++i) total = fold(total, (*x.elements)[i]);
      result.elements = {total};
    }
  }
  return one(std::move(result));
}

// Calls visit(line) with the elements that form each output element, in row-major order of the
// outputs; visit returns the output element.
template <typename Visit>
Tensor reduce(EvalContext& context, const Dims& axes, bool keep, Visit&& visit) {
  const Tensor& x = context.input("x");
  const Dims strides = strides_of(x.shape);
  Dims kept_shape, kept_strides, line_shape, line_strides, shape;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const bool reduced = std::find(axes.begin(), axes.end(), axis) != axes.end();
    const auto i = static_cast<size_t>(axis);
    (reduced ? line_shape : kept_shape).push_back(x.shape[i]);
    (reduced ? line_strides : kept_strides).push_back(strides[i]);
    if (!reduced) {
      shape.push_back(x.shape[i]);
    } else if (keep) {
      shape.push_back(1);
    }
  }
  std::vector<int64_t> offsets;
  for_each_index(line_shape,
                 [&](const Dims& index) { offsets.push_back(offset_of(index, line_strides)); });
  Tensor result(x.type, shape);
  std::vector<double> line(offsets.size());
  size_t next = 0;
  for_each_index(kept_shape, [&](const Dims& index) {
    const int64_t start = offset_of(index, kept_strides);
    for (size_t i = 0; i < line.size(); ++i) {
      line[i] = x.values[static_cast<size_t>(start + offsets[i])];
    }
    result.values[next++] = visit(std::as_const(line));
  });
  return result;
}

using Line = std::vector<double>;
using Reduction = double (*)(const Line&);

template <Reduction f>
Tensors evaluate_reduction(EvalContext& context) {
  const Dims axes = axes_or_all(context, "axes", context.input("x").rank());
  return one(reduce(context, axes, context.bool_param("keep_dims"), f));
}

double sum(const Line& line) {
  double total = 0;
  for (const double value : line) total += value;
  return total;
}
double mean(const Line& line) {
  return sum(line) / static_cast<double>(line.size());
}
double max(const Line& line) {
  double result = -HUGE_VAL;
  for (const double value : line) result = std::isnan(value) || value > result ? value : result;
  return result;
}
double min(const Line& line) {
  double result = HUGE_VAL;
  for (const double value : line) result = std::isnan(value) || value < result ? value : result;
  return result;
}
double prod(const Line& line) {
  double result = 1;
  for (const double value : line) result *= value;
  return result;
}
double l1_norm(const Line& line) {
  double total = 0;
  for (const double value : line) total += std::abs(value);
  return total;
}
double sum_square(const Line& line) {
  double total = 0;
  for (const double value : line) total += value * value;
  return total;
}
double l2_norm(const Line& line) {
  return std::sqrt(sum_square(line));
}
double log_sum(const Line& line) {
  return std::log(sum(line));
}
double log_sum_exp(const Line& line) {
  const double largest = max(line);
  if (std::isinf(largest)) return largest;
  double total = 0;
  for (const double value : line) total += std::exp(value - largest);
  return largest + std::log(total);
}

template <Reduction f, Fold fold = nullptr>
OpDef reduction(std::string_view name, std::string_view types, std::string_view doc) {
  return {name,
          Opset::CoreML5,
          {tensor("x", types), optional_constant("axes", "i"),
           optional_constant("keep_dims", "b", false)},
          infer_reduction<fold>,
          evaluate_reduction<f>,
          doc};
}

Infos infer_arg(InferContext& context) {
  const ValueInfo& x = context.input("x");
  const auto rank = static_cast<int64_t>(x.shape.size());
  const int64_t axis = normalize_axis(context, context.int_param("axis"), rank);
  const DataType type = context.opset() >= Opset::CoreML7 ? data_type_param(context, "output_dtype")
                                                          : DataType::Int32;
  return one(tensor_info(type, reduced_shape(x.shape, {axis}, context.bool_param("keep_dims"))));
}

template <bool largest>
Tensors evaluate_arg(EvalContext& context) {
  const int64_t axis =
      normalize_axis(context, context.int_param("axis"), context.input("x").rank());
  return one(reduce(context, {axis}, context.bool_param("keep_dims"), [&](const Line& line) {
    if (line.empty()) context.reject("the axis is empty");
    size_t best = 0;
    for (size_t i = 1; i < line.size(); ++i) {
      if (largest ? line[i] > line[best] : line[i] < line[best]) best = i;
    }
    return static_cast<double>(best);
  }));
}

template <bool largest>
OpDef arg_reduction(std::string_view name, Opset since, std::string_view doc) {
  std::vector<Parameter> parameters = {tensor("x", "fi"), optional_constant("axis", "i", -1),
                                       optional_constant("keep_dims", "b", false)};
  if (since >= Opset::CoreML7) {
    parameters.push_back(optional_constant("output_dtype", "s", "int32"));
  }
  return {name, since, std::move(parameters), infer_arg, evaluate_arg<largest>, doc};
}

}  // namespace

std::vector<OpDef> reduction_ops() {
  constexpr std::string_view kArgMax =
      "Index of the largest element along axis, the first of equals. Since CoreML7 as "
      "output_dtype, int32 or uint16.";
  constexpr std::string_view kArgMin =
      "Index of the smallest element along axis, the first of equals. Since CoreML7 as "
      "output_dtype, int32 or uint16.";
  return {
      reduction<sum, fold_sum>("reduce_sum", "fi", "Sum over axes, all where absent."),
      reduction<mean>("reduce_mean", "fi", "Arithmetic mean over axes, all where absent."),
      reduction<max, fold_max>("reduce_max", "fi", "Maximum over axes, all where absent."),
      reduction<min, fold_min>("reduce_min", "fi", "Minimum over axes, all where absent."),
      reduction<prod, fold_product>("reduce_prod", "fi", "Product over axes, all where absent."),
      reduction<l1_norm>("reduce_l1_norm", "fi", "Sum of |x| over axes, all where absent."),
      reduction<l2_norm>("reduce_l2_norm", "fi",
                         "Square root of the sum of x * x over axes, all where absent."),
      reduction<sum_square>("reduce_sum_square", "fi", "Sum of x * x over axes, all where absent."),
      reduction<log_sum>("reduce_log_sum", "fi",
                         "Logarithm of the sum over axes, all where absent."),
      reduction<log_sum_exp>("reduce_log_sum_exp", "fi",
                             "Logarithm of the sum of exp(x) over axes, all where absent; does "
                             "not overflow."),
      arg_reduction<true>("reduce_argmax", Opset::CoreML5, kArgMax),
      arg_reduction<true>("reduce_argmax", Opset::CoreML7, kArgMax),
      arg_reduction<false>("reduce_argmin", Opset::CoreML5, kArgMin),
      arg_reduction<false>("reduce_argmin", Opset::CoreML7, kArgMin),
  };
}

}  // namespace pippin::mil
