// Pooling and local response normalization.
#include <algorithm>
#include <cmath>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/windows.h"

namespace pippin::mil {
namespace {

WindowParams pool_params(const OpContext& context, size_t rank) {
  if (rank < 3 || rank > 5) context.reject("x of rank {}", rank);
  WindowParams params = window_params(context, context.ints_param("kernel_sizes"));
  params.ceil_mode = context.bool_param("ceil_mode");
  if (params.ceil_mode && params.pad_type.starts_with("same")) {
    context.reject("ceil_mode with pad_type \"{}\"", params.pad_type);
  }
  return params;
}

Infos infer_pool(InferContext& context) {
  const ValueInfo& x = context.input("x");
  const WindowParams params = pool_params(context, x.shape.size());
  Shape shape = {x.shape[0], x.shape[1]};
  for (Dim& count : window_counts(context, params, Shape(x.shape.begin() + 2, x.shape.end()))) {
    shape.push_back(std::move(count));
  }
  return one(tensor_info(x.type, std::move(shape)));
}

// The contents of a window: the elements of x in it, and its number of positions including padding
// (in ceil mode, fewer than the kernel's at the end).
struct Window {
  std::vector<double> values;
  double places = 1;
};

using Pool = double (*)(const EvalContext&, const Window&);

double average(const EvalContext& context, const Window& window) {
  double sum = 0;
  for (const double value : window.values) sum += value;
  const bool exclude = context.bool_param("exclude_padding_from_average");
  return sum / (exclude ? static_cast<double>(window.values.size()) : window.places);
}
double maximum_of(const EvalContext&, const Window& window) {
  double largest = -HUGE_VAL;
  for (const double value : window.values) {
    largest = std::isnan(value) || value > largest ? value : largest;
  }
  return largest;
}
double l2(const EvalContext&, const Window& window) {
  double sum = 0;
  for (const double value : window.values) sum += value * value;
  return std::sqrt(sum);
}

template <Pool pool>
Tensors evaluate_pool(EvalContext& context) {
  const Tensor& x = context.input("x");
  const WindowParams params = pool_params(context, x.shape.size());
  const Dims in(x.shape.begin() + 2, x.shape.end());
  const WindowGrid grid = window_grid(context, params, in);
  const int64_t in_size = num_elements(in), planes = x.shape[0] * x.shape[1];
  const Dims strides = strides_of(in);
  Dims shape = {x.shape[0], x.shape[1]};
  shape.insert(shape.end(), grid.counts.begin(), grid.counts.end());
  Tensor result(x.type, shape);
  size_t next = 0;
  for (int64_t plane = 0; plane < planes; ++plane) {
    for_each_index(grid.counts, [&](const Dims& index) {
      Window window;
      // The part of the window inside x, however large the kernel.
      Dims first(in.size()), inside(in.size());
      for (size_t i = 0; i < in.size(); ++i) {
        const int64_t start = index[i] * params.strides[i] - grid.pad_begin[i];
        const int64_t end = start + params.kernel[i];
        first[i] = std::clamp<int64_t>(start, 0, in[i]);
        inside[i] = std::clamp<int64_t>(end, 0, in[i]) - first[i];
        // Positions beyond the padding at the end do not count.
        const bool custom = params.pad_type == "custom" || params.pad_type == "valid";
        const int64_t limit = custom ? in[i] + params.pad[2 * i + 1] : INT64_MAX;
        window.places *= static_cast<double>(std::min(end, limit) - start);
      }
      const int64_t corner = plane * in_size + offset_of(first, strides);
      for_each_index(inside, [&](const Dims& tap) {
        const int64_t place = corner + offset_of(tap, strides);
        window.values.push_back(x.values[static_cast<size_t>(place)]);
      });
      result.values[next++] = pool(context, window);
    });
  }
  return one(std::move(result));
}

std::vector<Parameter> pool_parameters(bool average_pool) {
  std::vector<Parameter> parameters = {tensor("x", "f"),
                                       constant("kernel_sizes", "i"),
                                       optional_constant("strides", "i"),
                                       constant("pad_type", "s"),
                                       optional_constant("pad", "i"),
                                       optional_constant("ceil_mode", "b", false)};
  if (average_pool) {
    parameters.push_back(optional_constant("exclude_padding_from_average", "b", false));
  }
  return parameters;
}

Infos infer_local_response(InferContext& context) {
  if (context.input("x").shape.size() < 3) context.reject("x must have rank 3 or more");
  if (context.int_param("size") < 1) context.reject("size is {}", context.int_param("size"));
  return infer_like_x(context);
}

Tensors evaluate_local_response(EvalContext& context) {
  const Tensor& x = context.input("x");
  const int64_t size = context.int_param("size");
  const double alpha = context.float_param("alpha"), beta = context.float_param("beta"),
               k = context.float_param("k");
  const AxisView view(x.shape, 1);
  Tensor result(x.type, x.shape);
  for (int64_t o = 0; o < view.outer; ++o) {
    for (int64_t c = 0; c < view.size; ++c) {
      const int64_t first = std::max<int64_t>(0, c - size / 2);
      const int64_t last = std::min(view.size - 1, c + (size - 1) / 2);
      for (int64_t n = 0; n < view.inner; ++n) {
        double sum = 0;
        for (int64_t i = first; i <= last; ++i) {
          const double value = x.values[view.at(o, i, n)];
          sum += value * value;
        }
        const size_t at = view.at(o, c, n);
        result.values[at] =
            x.values[at] / std::pow(k + alpha / static_cast<double>(size) * sum, beta);
      }
    }
  }
  return one(std::move(result));
}

}  // namespace

std::vector<OpDef> pooling_ops() {
  return {
      {"avg_pool", Opset::CoreML5, pool_parameters(true), infer_pool, evaluate_pool<average>,
       "Mean of each window of kernel_sizes over the spatial axes of x [N, C, spatial...]; padding "
       "as in conv, counted as zeros unless exclude_padding_from_average. ceil_mode adds a last, "
       "smaller window."},
      {"max_pool", Opset::CoreML5, pool_parameters(false), infer_pool, evaluate_pool<maximum_of>,
       "Maximum of each window, as avg_pool; padding never counts."},
      {"l2_pool", Opset::CoreML5, pool_parameters(false), infer_pool, evaluate_pool<l2>,
       "Square root of the sum of squares of each window, as avg_pool."},
      {"local_response_norm",
       Opset::CoreML5,
       {tensor("x", "f"), constant("size", "i"), optional_constant("alpha", "f", 1e-4),
        optional_constant("beta", "f", 0.75), optional_constant("k", "f", 1.0)},
       infer_local_response,
       evaluate_local_response,
       "x / (k + alpha / size * sum of x * x)^beta, the sum over `size` neighbouring channels "
       "(axis 1)."},
  };
}

}  // namespace pippin::mil
