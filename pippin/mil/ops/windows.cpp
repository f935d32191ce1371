#include "pippin/mil/ops/windows.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace pippin::mil {
namespace {

int64_t extent_of(const WindowParams& params, size_t i) {
  return (params.kernel[i] - 1) * params.dilations[i] + 1;
}

bool is_same(const WindowParams& params) {
  return params.pad_type == "same" || params.pad_type == "same_lower";
}

Dims positive(const OpContext& context, std::string_view name, size_t count) {
  Dims values(count, 1);
  if (context.has(name)) values = context.ints_param(name);
  const bool fits =
      values.size() == count &&
      std::all_of(values.begin(), values.end(), [](int64_t v) { return v >= 1 && v <= INT32_MAX; });
  if (!fits) context.reject("{} {} for {} spatial axes", name, values, count);
  return values;
}

}  // namespace

WindowParams window_params(const OpContext& context, Dims kernel) {
  WindowParams params;
  const size_t count = kernel.size();
  params.kernel = std::move(kernel);
  for (const int64_t size : params.kernel) {
    if (size < 1 || size > INT32_MAX) context.reject("the kernel has sizes {}", params.kernel);
  }
  params.strides = positive(context, "strides", count);
  params.dilations = positive(context, "dilations", count);
  for (size_t i = 0; i < count; ++i) {
    if (extent_of(params, i) > INT32_MAX) {
      context.reject("kernel sizes {} with dilations {}", params.kernel, params.dilations);
    }
  }
  params.pad_type = context.string_param("pad_type");
  params.pad.assign(2 * count, 0);
  if (params.pad_type == "custom") {
    if (context.has("pad")) params.pad = context.ints_param("pad");
    const bool fits = params.pad.size() == 2 * count &&
                      std::all_of(params.pad.begin(), params.pad.end(),
                                  [](int64_t v) { return v >= 0 && v <= INT32_MAX; });
    if (!fits) context.reject("pad {} for {} spatial axes", params.pad, count);
  } else if (params.pad_type != "valid" && !is_same(params)) {
    context.reject("pad_type \"{}\" is unknown", params.pad_type);
  }
  return params;
}

Shape window_counts(InferContext& context, const WindowParams& params, const Shape& in) {
  if (params.kernel.size() != in.size()) {
    context.reject("a kernel of {} axes over {}", params.kernel.size(), in.size());
  }
  Shape counts;
  for (size_t i = 0; i < in.size(); ++i) {
    const Dim stride(params.strides[i]);
    if (is_same(params)) {
      counts.push_back(floor_div(in[i] + stride - Dim(1), stride));
      continue;
    }
    const Dim room = in[i] + Dim(params.pad[2 * i] + params.pad[2 * i + 1] - extent_of(params, i));
    context.require_at_least(room, Dim(0), "the kernel must fit");
    if (!params.ceil_mode) {
      counts.push_back(floor_div(room, stride) + Dim(1));
      continue;
    }
    // A window that starts in the padding at the end is omitted.
    const Dim count = floor_div(room + stride - Dim(1), stride) + Dim(1);
    if (params.pad[2 * i] + params.pad[2 * i + 1] == 0) {
      counts.push_back(count);
      continue;
    }
    const Dim starts = floor_div(in[i] + Dim(params.pad[2 * i]) + stride - Dim(1), stride);
    counts.push_back(minimum(count, starts));
  }
  return counts;
}

WindowGrid window_grid(const EvalContext& context, const WindowParams& params, const Dims& in) {
  if (params.kernel.size() != in.size()) {
    context.reject("a kernel of {} axes over {}", params.kernel.size(), in.size());
  }
  WindowGrid grid;
  for (size_t i = 0; i < in.size(); ++i) {
    const int64_t stride = params.strides[i], extent = extent_of(params, i);
    if (is_same(params)) {
      const int64_t count = (in[i] + stride - 1) / stride;
      const int64_t total = std::max<int64_t>(0, (count - 1) * stride + extent - in[i]);
      grid.counts.push_back(count);
      grid.pad_begin.push_back(params.pad_type == "same" ? total / 2 : total - total / 2);
      continue;
    }
    const int64_t room = in[i] + params.pad[2 * i] + params.pad[2 * i + 1] - extent;
    if (room < 0) context.reject("a kernel of {} over {}", extent, in[i]);
    int64_t count = (params.ceil_mode ? room + stride - 1 : room) / stride + 1;
    if (params.ceil_mode && params.pad[2 * i] + params.pad[2 * i + 1] > 0) {
      count = std::min(count, (in[i] + params.pad[2 * i] + stride - 1) / stride);
    }
    grid.counts.push_back(count);
    grid.pad_begin.push_back(params.pad[2 * i]);
  }
  return grid;
}

}  // namespace pippin::mil
