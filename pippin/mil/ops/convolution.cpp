// Convolutions over one to three spatial axes.
#include <algorithm>

#include <fmt/ranges.h>

#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/product.h"
#include "pippin/mil/ops/windows.h"

namespace pippin::mil {
namespace {

void check_bias(InferContext& context, const Dim& channels) {
  if (!context.has("bias")) return;
  const ValueInfo& bias = context.input("bias");
  if (bias.shape.size() != 1) context.reject("bias has rank {}", bias.shape.size());
  context.require_equal(bias.shape[0], channels, "one bias per output channel");
}

int64_t groups_of(const OpContext& context) {
  const int64_t groups = context.int_param("groups");
  if (groups < 1) context.reject("groups is {}", groups);
  return groups;
}

// x and weight have a batch and a channel axis and the same number of spatial axes.
void check_ranks(const OpContext& context, size_t x, size_t weight) {
  if (x < 3 || x > 5 || weight != x) context.reject("x of rank {}, weight of rank {}", x, weight);
}

template <typename T>
std::vector<T> spatial(const std::vector<T>& shape) {
  return {shape.begin() + 2, shape.end()};
}

Dims kernel_sizes(InferContext& context, const ValueInfo& weight) {
  const auto kernel = constant_shape(spatial(weight.shape));
  if (!kernel) context.reject("the kernel has shape {}", to_string(weight.shape));
  return *kernel;
}

Infos infer_conv(InferContext& context) {
  const ValueInfo &x = context.input("x"), &weight = context.input("weight");
  check_ranks(context, x.shape.size(), weight.shape.size());
  const int64_t groups = groups_of(context);
  context.require_equal(x.shape[1], weight.shape[1] * Dim(groups), "the input channels");
  if (known_equal(mod(weight.shape[0], Dim(groups)), Dim(0)) == false) {
    context.reject("{} output channels in {} groups", weight.shape[0].to_string(), groups);
  }
  check_bias(context, weight.shape[0]);
  const WindowParams params = window_params(context, kernel_sizes(context, weight));
  Shape shape = {x.shape[0], weight.shape[0]};
  for (const Dim& size : window_counts(context, params, spatial(x.shape))) shape.push_back(size);
  return one(tensor_info(x.type, std::move(shape)));
}

// Calls visit(position in the large shape, k) for every kernel element k whose position lies
// inside.
template <typename Visit>
void for_each_tap(const Dims& start, const WindowParams& params, const Dims& large, Visit&& visit) {
  int64_t k = 0;
  for_each_index(params.kernel, [&](const Dims& tap) {
    int64_t place = 0;
    bool inside = true;
    for (size_t i = 0; inside && i < tap.size(); ++i) {
      const int64_t at = start[i] + tap[i] * params.dilations[i];
      inside = at >= 0 && at < large[i];
      if (inside) place = place * large[i] + at;
    }
    if (inside) visit(place, k);
    ++k;
  });
}

Dims window_start(const Dims& index, const WindowParams& params, const Dims& pad_begin) {
  Dims start(index.size());
  for (size_t i = 0; i < index.size(); ++i) start[i] = index[i] * params.strides[i] - pad_begin[i];
  return start;
}

void add_bias(const EvalContext& context, Tensor& result) {
  if (!context.has("bias")) return;
  const Tensor& bias = context.input("bias");
  const AxisView view(result.shape, 1);
  for (size_t i = 0; i < result.values.size(); ++i) {
    const int64_t channel = static_cast<int64_t>(i) / view.inner % view.size;
    result.values[i] += bias.values.at(static_cast<size_t>(channel));
  }
}

Tensor convolved(const EvalContext& context, const Tensor& x, const Tensor& weight) {
  const int64_t groups = groups_of(context);
  const WindowParams params = window_params(context, spatial(weight.shape));
  const Dims in = spatial(x.shape);
  const WindowGrid grid = window_grid(context, params, in);
  const int64_t inputs = weight.shape[1], outputs = weight.shape[0];
  const int64_t in_size = num_elements(in), kernel_size = num_elements(params.kernel);
  const int64_t out_size = num_elements(grid.counts);
  Dims shape = {x.shape[0], outputs};
  shape.insert(shape.end(), grid.counts.begin(), grid.counts.end());
  Tensor result(x.type, shape);
  for (int64_t n = 0; n < x.shape[0]; ++n) {
    int64_t out_place = 0;
    for_each_index(grid.counts, [&](const Dims& index) {
      const Dims start = window_start(index, params, grid.pad_begin);
      for_each_tap(start, params, in, [&](int64_t place, int64_t k) {
        for (int64_t o = 0; o < outputs; ++o) {
          const int64_t first = o / (outputs / groups) * inputs;
          double sum = 0;
          for (int64_t c = 0; c < inputs; ++c) {
            sum +=
                x.values[static_cast<size_t>((n * inputs * groups + first + c) * in_size + place)] *
                weight.values[static_cast<size_t>((o * inputs + c) * kernel_size + k)];
          }
          result.values[static_cast<size_t>((n * outputs + o) * out_size + out_place)] += sum;
        }
      });
      ++out_place;
    });
  }
  add_bias(context, result);
  return result;
}

Tensors evaluate_conv(EvalContext& context) {
  return one(convolved(context, context.input("x"), context.input("weight")));
}

Infos infer_conv_quantized(InferContext& context) {
  const std::string type = context.string_param("quantization_type");
  if (type != "linear") refuse(context, "quantization_type \"{}\"", type);
  const int64_t bits = context.int_param("nbits");
  if (bits < 1 || bits > 8) context.reject("nbits is {}", bits);
  const Shape& weight = context.input("weight").shape;
  for (const std::string_view name : {"quant_scale", "quant_bias"}) {
    const Dim count = num_elements(context.input(name).shape);
    if (count != Dim(1) && !weight.empty()) {
      context.require_equal(count, weight[0], "one number for each output channel, or for all");
    }
  }
  return infer_conv(context);
}

Tensors evaluate_conv_quantized(EvalContext& context) {
  Tensor weight = context.input("weight");
  const Tensor &scale = context.input("quant_scale"), &bias = context.input("quant_bias");
  const AxisView view(weight.shape, 0);
  const auto of_channel = [](const Tensor& numbers, int64_t channel) {
    return numbers.values.at(numbers.values.size() == 1 ? 0 : static_cast<size_t>(channel));
  };
  for (size_t i = 0; i < weight.values.size(); ++i) {
    const int64_t channel = static_cast<int64_t>(i) / view.inner;
    weight.values[i] = weight.values[i] * of_channel(scale, channel) + of_channel(bias, channel);
  }
  return one(convolved(context, context.input("x"), weight));
}

// The output sizes of a transposed convolution, and how much is cut off before the first element.
template <typename T>
struct Transposed {
  std::vector<T> sizes;
  Dims cut;
};

template <typename T>
Transposed<T> transposed_sizes(const OpContext& context, const WindowParams& params,
                               const std::vector<T>& in) {
  Transposed<T> result;
  Dims wanted;
  if (context.has("output_shape")) {
    wanted = context.ints_param("output_shape");
    if (wanted.size() != in.size() + 2) context.reject("output_shape {}", wanted);
  }
  for (size_t i = 0; i < in.size(); ++i) {
    const int64_t extent = (params.kernel[i] - 1) * params.dilations[i] + 1;
    // Cut from both sides together, out of (in - 1) * stride + extent.
    int64_t before = 0, after = 0;
    if (params.pad_type == "custom") {
      before = params.pad[2 * i];
      after = params.pad[2 * i + 1];
    } else if (params.pad_type != "valid") {
      const int64_t total = std::max<int64_t>(0, extent - params.strides[i]);
      before = params.pad_type == "same" ? total / 2 : total - total / 2;
      after = total - before;
    }
    T size = (in[i] - T(1)) * T(params.strides[i]) + T(extent) - T(before + after);
    if (params.pad_type == "same" || params.pad_type == "same_lower") {
      size = in[i] * T(params.strides[i]);
    }
    result.sizes.push_back(wanted.empty() ? size : T(wanted[i + 2]));
    result.cut.push_back(before);
  }
  return result;
}

Infos infer_conv_transpose(InferContext& context) {
  const ValueInfo &x = context.input("x"), &weight = context.input("weight");
  check_ranks(context, x.shape.size(), weight.shape.size());
  const int64_t groups = groups_of(context);
  context.require_equal(x.shape[1], weight.shape[0], "the input channels");
  if (known_equal(mod(weight.shape[0], Dim(groups)), Dim(0)) == false) {
    context.reject("{} input channels in {} groups", weight.shape[0].to_string(), groups);
  }
  const Dim channels = weight.shape[1] * Dim(groups);
  check_bias(context, channels);
  const WindowParams params = window_params(context, kernel_sizes(context, weight));
  Shape shape = {x.shape[0], channels};
  for (const Dim& size : transposed_sizes(context, params, spatial(x.shape)).sizes) {
    context.require_at_least(size, Dim(0), "an output size");
    shape.push_back(size);
  }
  return one(tensor_info(x.type, std::move(shape)));
}

Tensors evaluate_conv_transpose(EvalContext& context) {
  const Tensor &x = context.input("x"), &weight = context.input("weight");
  const int64_t groups = groups_of(context);
  const WindowParams params = window_params(context, spatial(weight.shape));
  const Dims in = spatial(x.shape);
  const Transposed<int64_t> out = transposed_sizes(context, params, in);
  const int64_t inputs = weight.shape[0], per_group = weight.shape[1];
  const int64_t in_size = num_elements(in), kernel_size = num_elements(params.kernel);
  const int64_t out_size = num_elements(out.sizes);
  Dims shape = {x.shape[0], per_group * groups};
  shape.insert(shape.end(), out.sizes.begin(), out.sizes.end());
  Tensor result(x.type, shape);
  for (int64_t n = 0; n < x.shape[0]; ++n) {
    int64_t in_place = 0;
    for_each_index(in, [&](const Dims& index) {
      const Dims start = window_start(index, params, out.cut);
      for_each_tap(start, params, out.sizes, [&](int64_t place, int64_t k) {
        for (int64_t c = 0; c < inputs; ++c) {
          const double value = x.values[static_cast<size_t>((n * inputs + c) * in_size + in_place)];
          const int64_t first = c / (inputs / groups) * per_group;
          for (int64_t o = 0; o < per_group; ++o) {
            result.values[static_cast<size_t>((n * per_group * groups + first + o) * out_size +
                                              place)] +=
                value * weight.values[static_cast<size_t>((c * per_group + o) * kernel_size + k)];
          }
        }
      });
      ++in_place;
    });
  }
  add_bias(context, result);
  return one(std::move(result));
}

std::vector<Parameter> conv_parameters() {
  return {tensor("x", "f"),
          tensor("weight", "f"),
          optional_tensor("bias", "f"),
          optional_constant("strides", "i"),
          optional_constant("pad_type", "s", "valid"),
          optional_constant("pad", "i"),
          optional_constant("dilations", "i"),
          optional_constant("groups", "i", 1)};
}

std::vector<Parameter> conv_quantized_parameters() {
  std::vector<Parameter> parameters = conv_parameters();
  parameters[1] = tensor("weight", "i");
  parameters[2] = optional_constant("bias", "fi");
  parameters.push_back(constant("quantization_type", "s"));
  parameters.push_back(optional_constant("nbits", "i", 8));
  parameters.push_back(constant("quant_scale", "f"));
  parameters.push_back(constant("quant_bias", "f"));
  return parameters;
}

std::vector<Parameter> conv_transpose_parameters() {
  std::vector<Parameter> parameters = conv_parameters();
  parameters.push_back(optional_constant("output_shape", "i"));
  return parameters;
}

}  // namespace

std::vector<OpDef> convolution_ops() {
  return {
      {.name = "conv",
       .parameters = conv_parameters(),
       .infer = infer_conv,
       .evaluate = evaluate_conv,
       .doc =
           "Convolution of x [N, C, spatial...] with weight [out, C / groups, kernel...], plus "
           "bias. pad_type is valid, custom (pad: before and after per axis), or same and "
           "same_lower: the output has ceil(in / stride) elements and an odd one of padding lies "
           "at the end or start.",
       .product = conv_product},
      {.name = "conv_quantized",
       .parameters = conv_quantized_parameters(),
       .infer = infer_conv_quantized,
       .evaluate = evaluate_conv_quantized,
       .doc =
           "conv with the weight weight * quant_scale + quant_bias, of which each has one number "
           "or one per output channel. quantization_type must be linear.",
       .product = conv_product},
      {.name = "conv_transpose",
       .parameters = conv_transpose_parameters(),
       .infer = infer_conv_transpose,
       .evaluate = evaluate_conv_transpose,
       .doc =
           "The transposition of conv for weight [C, out / groups, kernel...]: every element of "
           "x adds its multiple of the kernel. The padding of pad_type is cut off; output_shape, "
           "if present, is the result's.",
       .product = conv_transpose_product},
  };
}

}  // namespace pippin::mil
