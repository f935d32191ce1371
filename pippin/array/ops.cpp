#include "pippin/array/ops.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "pippin/array/builder.h"
#include "pippin/array/node.h"
#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/mil/tensor.h"

namespace pippin::array {
namespace {

std::string_view dtype_name(mil::DataType type) {
  return mil::to_string(type);
}

Array binary(std::string_view op, const Array& x, const Array& y) {
  return record_one(op, {{"x", x}, {"y", y}});
}
Array binary(std::string_view op, const Array& x, double y) {
  if (!mil::is_float(x.type())) return binary(op, x, constant(x.type(), y));
  return record_one(op, {{"x", x}, {"y", mil::Value::of_float(x.type(), y)}});
}
Array unary(std::string_view op, const Array& x) {
  return record_one(op, {{"x", x}});
}
Array reduce(std::string_view op, const Array& x, const std::vector<int64_t>& axes, bool keep) {
  return record_one(op, {{"x", x}, {"axes", axes}, {"keep_dims", keep}});
}

Array dims_value(const mil::Shape& dims) {
  if (const auto numbers = mil::constant_shape(dims)) return constant(*numbers);
  return Builder::current().dims_array(dims);
}

}  // namespace

Array constant(mil::Value value, std::string_view name) {
  auto node = std::make_shared<Node>();
  node->name = to_identifier(name);
  node->operation = std::make_unique<mil::Operation>("const");
  const mil::ValueType type = value.type;
  node->operation->attributes().emplace("val", std::move(value));
  node->operation->add_output(node->name, type);
  const mil::Value& kept = *node->operation->constant_value();

  mil::ValueInfo info;
  info.type = type.data_type;
  info.shape = mil::to_shape(type.dims);
  info.constant = &kept;
  constexpr int64_t kMaxElements = 256;
  const bool counts = mil::is_integer(type.data_type) || type.data_type == mil::DataType::Bool;
  if (counts && type.num_elements() <= kMaxElements) {
    const std::vector<int64_t> elements = kept.to_ints();
    info.elements.emplace(elements.begin(), elements.end());
  }
  node->infos.push_back(std::move(info));
  return Array(node, 0);
}

Array constant(int32_t value) {
  return constant(mil::Value::of_int32(value),
                  (value < 0 ? "int32_minus_" : "int32_") + std::to_string(std::abs(value)));
}

Array constant(std::span<const int64_t> values) {
  std::vector<int32_t> narrow(values.begin(), values.end());
  return constant(mil::Value::of_int32s(narrow), "int32s");
}

Array constant(mil::DataType type, double value) {
  if (mil::is_float(type)) return constant(mil::Value::of_float(type, value));
  return constant(mil::to_value(mil::Tensor::scalar(type, value)));
}

Array constant(mil::DataType type, std::vector<int64_t> dims, std::span<const double> values,
               std::string_view name) {
  constexpr double kLargestHalf = 65520;  // rounds to infinity
  const bool overflows =
      type == mil::DataType::Float16 && std::any_of(values.begin(), values.end(), [](double value) {
        return std::isfinite(value) && std::abs(value) >= kLargestHalf;
      });
  if (overflows) log_warn("{}: some values are beyond fp16 (65504) and become infinite", name);
  return constant(mil::Value::of_floats(type, values, std::move(dims)), name);
}

Array zeros(mil::DataType type, std::vector<int64_t> dims, std::string_view name) {
  mil::Value value;
  value.type = mil::ValueType::tensor(type, std::move(dims));
  value.bytes.resize(mil::packed_size(type, value.type.num_elements()));
  return constant(std::move(value), name);
}

Array weight(std::string_view name, mil::DataType type, std::vector<int64_t> dims,
             std::shared_ptr<const mil::TensorSource> source) {
  return constant(
      mil::Value::of_source(mil::ValueType::tensor(type, std::move(dims)), std::move(source)),
      name);
}

Array add(const Array& x, const Array& y) {
  return binary("add", x, y);
}
Array subtract(const Array& x, const Array& y) {
  return binary("sub", x, y);
}
Array multiply(const Array& x, const Array& y) {
  return binary("mul", x, y);
}
Array divide(const Array& x, const Array& y) {
  return binary("real_div", x, y);
}
Array floor_divide(const Array& x, const Array& y) {
  return binary("floor_div", x, y);
}
Array mod(const Array& x, const Array& y) {
  return binary("mod", x, y);
}
Array pow(const Array& x, const Array& y) {
  return binary("pow", x, y);
}
Array maximum(const Array& x, const Array& y) {
  return binary("maximum", x, y);
}
Array minimum(const Array& x, const Array& y) {
  return binary("minimum", x, y);
}
Array add(const Array& x, double y) {
  return binary("add", x, y);
}
Array subtract(const Array& x, double y) {
  return binary("sub", x, y);
}
Array multiply(const Array& x, double y) {
  return binary("mul", x, y);
}
Array divide(const Array& x, double y) {
  return binary("real_div", x, y);
}
Array pow(const Array& x, double y) {
  return binary("pow", x, y);
}
Array maximum(const Array& x, double y) {
  return binary("maximum", x, y);
}
Array minimum(const Array& x, double y) {
  return binary("minimum", x, y);
}
Array equal(const Array& x, const Array& y) {
  return binary("equal", x, y);
}
Array less(const Array& x, const Array& y) {
  return binary("less", x, y);
}
Array less_equal(const Array& x, const Array& y) {
  return binary("less_equal", x, y);
}
Array greater(const Array& x, const Array& y) {
  return binary("greater", x, y);
}
Array greater_equal(const Array& x, const Array& y) {
  return binary("greater_equal", x, y);
}
Array logical_and(const Array& x, const Array& y) {
  return binary("logical_and", x, y);
}
Array logical_or(const Array& x, const Array& y) {
  return binary("logical_or", x, y);
}
Array logical_not(const Array& x) {
  return unary("logical_not", x);
}
Array select(const Array& condition, const Array& a, const Array& b) {
  return record_one("select", {{"cond", condition}, {"a", a}, {"b", b}});
}

Array abs(const Array& x) {
  return unary("abs", x);
}
Array exp(const Array& x) {
  return unary("exp", x);
}
Array sqrt(const Array& x) {
  return unary("sqrt", x);
}
Array rsqrt(const Array& x) {
  return unary("rsqrt", x);
}
Array square(const Array& x) {
  return unary("square", x);
}
Array sin(const Array& x) {
  return unary("sin", x);
}
Array cos(const Array& x) {
  return unary("cos", x);
}
Array tanh(const Array& x) {
  return unary("tanh", x);
}
Array relu(const Array& x) {
  return unary("relu", x);
}
Array sigmoid(const Array& x) {
  return unary("sigmoid", x);
}
Array silu(const Array& x) {
  return unary("silu", x);
}
Array softplus(const Array& x) {
  return unary("softplus", x);
}
Array gelu(const Array& x, std::string_view mode) {
  return record_one("gelu", {{"x", x}, {"mode", mode}});
}
Array clip(const Array& x, double lower, double upper) {
  return record_one("clip", {{"x", x},
                             {"alpha", mil::Value::of_float(x.type(), lower)},
                             {"beta", mil::Value::of_float(x.type(), upper)}});
}
Array softmax(const Array& x, int64_t axis) {
  return record_one("softmax", {{"x", x}, {"axis", axis}});
}
Array cast(const Array& x, mil::DataType type) {
  if (x.type() == type) return x;
  return record_one("cast", {{"x", x}, {"dtype", dtype_name(type)}});
}

Array reduce_sum(const Array& x, std::vector<int64_t> axes, bool keep_dims) {
  return reduce("reduce_sum", x, axes, keep_dims);
}
Array reduce_mean(const Array& x, std::vector<int64_t> axes, bool keep_dims) {
  return reduce("reduce_mean", x, axes, keep_dims);
}
Array reduce_max(const Array& x, std::vector<int64_t> axes, bool keep_dims) {
  return reduce("reduce_max", x, axes, keep_dims);
}
TopK topk(const Array& x, int64_t k, int64_t axis) {
  const auto outputs = record("topk", {{"x", x}, {"k", k}, {"axis", axis}});
  return {outputs.at(0), outputs.at(1)};
}

Array matmul(const Array& x, const Array& y, bool transpose_x, bool transpose_y) {
  return record_one(
      "matmul", {{"x", x}, {"y", y}, {"transpose_x", transpose_x}, {"transpose_y", transpose_y}});
}
Array linear(const Array& x, const Array& weight, const std::optional<Array>& bias) {
  if (weight.rank() != 2) {
    fail(ErrorCode::InvalidArgument, "linear '{}': the weight has shape {}", Scope::current(),
         mil::to_string(weight.shape()));
  }
  const Array added = bias ? *bias
                           : zeros(x.type(), {weight.dim(0).constant()},
                                   "zero_bias_" + std::to_string(weight.dim(0).constant()));
  return record_one("linear", {{"x", x}, {"weight", weight}, {"bias", added}});
}
Array scaled_dot_product_attention(const Array& query, const Array& key, const Array& value,
                                   const std::optional<Array>& mask) {
  std::vector<Param> params = {{"query", query}, {"key", key}, {"value", value}};
  if (mask) params.emplace_back("attn_mask", *mask);
  return record_one("scaled_dot_product_attention", std::move(params));
}
namespace {

// Returns whether the type rounds the number to 0.
bool vanishes(double number, mil::DataType type) {
  return number != 0 && mil::round_to_type(number, type) == 0;
}

// Returns a constant as fp32.
Array widened(const Array& constant_array) {
  const mil::Value& value = *constant_array.info().constant;
  const std::vector<double> numbers = value.to_doubles();
  return constant(mil::DataType::Float32, value.type.dims, numbers, constant_array.node()->name);
}

}  // namespace

Array rsqrt(const Array& x, double epsilon) {
  if (!vanishes(epsilon, x.type())) return rsqrt(x + epsilon);
  return record_one("rsqrt",
                    {{"x", x}, {"epsilon", mil::Value::of_float(mil::DataType::Float32, epsilon)}});
}

Array layer_norm(const Array& x, std::vector<int64_t> axes, const std::optional<Array>& gamma,
                 const std::optional<Array>& beta, double epsilon) {
  const bool wide = vanishes(epsilon, x.type());
  const mil::DataType type = wide ? mil::DataType::Float32 : x.type();
  std::vector<Param> params = {
      {"x", x}, {"axes", axes}, {"epsilon", mil::Value::of_float(type, epsilon)}};
  if (gamma) params.emplace_back("gamma", wide ? widened(*gamma) : *gamma);
  if (beta) params.emplace_back("beta", wide ? widened(*beta) : *beta);
  return record_one("layer_norm", std::move(params));
}

Array shape_of(const Array& x) {
  return record_one("shape", {{"x", x}});
}

// A single unknown dimension is written as -1, as coremltools does; several are computed.
Array reshape(const Array& x, const mil::Shape& shape) {
  std::vector<int64_t> sizes;
  size_t unknown = 0;
  for (const mil::Dim& dim : shape) {
    sizes.push_back(dim.try_constant().value_or(-1));
    if (!dim.is_constant()) ++unknown;
  }
  const Array target = unknown <= 1 ? constant(sizes) : Builder::current().dims_array(shape);
  Array result = record_one("reshape", {{"x", x}, {"shape", target}});
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (mil::known_equal(result.shape()[axis], shape[axis]) == false) {
      fail(ErrorCode::InvalidArgument, "reshape '{}': {} gives {}, not {}", result.node()->name,
           mil::to_string(x.shape()), mil::to_string(result.shape()), mil::to_string(shape));
    }
  }
  return result;
}
Array transpose(const Array& x, std::vector<int64_t> permutation) {
  return record_one("transpose", {{"x", x}, {"perm", permutation}});
}
Array expand_dims(const Array& x, std::vector<int64_t> axes) {
  return record_one("expand_dims", {{"x", x}, {"axes", axes}});
}
Array squeeze(const Array& x, std::vector<int64_t> axes) {
  return record_one("squeeze", {{"x", x}, {"axes", axes}});
}
Array concat(const std::vector<Array>& values, int64_t axis) {
  return record_one("concat", {{"values", values}, {"axis", axis}, {"interleave", false}});
}
std::vector<Array> split(const Array& x, std::vector<int64_t> sizes, int64_t axis) {
  return record("split", {{"x", x}, {"split_sizes", sizes}, {"axis", axis}});
}
Array tile(const Array& x, std::vector<int64_t> repetitions) {
  return record_one("tile", {{"x", x}, {"reps", repetitions}});
}
Array gather(const Array& x, const Array& indices, int64_t axis) {
  return record_one("gather", {{"x", x}, {"indices", indices}, {"axis", axis}});
}
Array range(const Array& start, const Array& end) {
  return record_one("range_1d", {{"start", start}, {"end", end}, {"step", int64_t{1}}});
}

// Parameters of Core ML's slice_by_index. A masked bound stands for the whole axis and is written
// as 0. If squeeze_mask drops an axis, its end is ignored, so that all layers of a cache share one
// vector of ends.
struct SliceParams {
  mil::Shape begin, end;
  std::vector<bool> begin_mask, end_mask, squeeze_mask;
  bool squeezes = false;

  SliceParams(const Array& x, const std::vector<Index>& indices) {
    if (static_cast<int64_t>(indices.size()) > x.rank()) {
      fail(ErrorCode::InvalidArgument, "slice: {} indices for an array of shape {}", indices.size(),
           mil::to_string(x.shape()));
    }
    for (int64_t axis = 0; axis < x.rank(); ++axis) {
      const auto position = static_cast<size_t>(axis);
      const Index index = position < indices.size() ? indices[position] : Index::all();
      const bool all = index.kind_ == Index::Kind::All;
      const bool at = index.kind_ == Index::Kind::At;
      begin.push_back(all ? mil::Dim(0) : index.begin_);
      end.push_back(all || at ? mil::Dim(0) : index.end_);
      begin_mask.push_back(false);
      end_mask.push_back(all);
      squeeze_mask.push_back(at);
      squeezes = squeezes || at;
    }
  }

  void append_to(std::vector<Param>& params) const {
    params.emplace_back("begin", dims_value(begin));
    params.emplace_back("end", dims_value(end));
    params.emplace_back("end_mask", end_mask);
    if (squeezes) params.emplace_back("squeeze_mask", squeeze_mask);
  }
};

Array slice(const Array& x, const std::vector<Index>& indices) {
  std::vector<Param> params = {{"x", x}};
  SliceParams(x, indices).append_to(params);
  return record_one("slice_by_index", std::move(params));
}

Array slice_update(const Array& x, const Array& update, const std::vector<Index>& indices) {
  const SliceParams slice(x, indices);
  std::vector<Param> params = {{"x", x}, {"update", update}};
  slice.append_to(params);
  // coremltools writes all of them for updates.
  params.emplace_back("stride", std::vector<int64_t>(slice.begin.size(), 1));
  params.emplace_back("begin_mask", slice.begin_mask);
  if (!slice.squeezes) params.emplace_back("squeeze_mask", slice.squeeze_mask);
  return record_one("slice_update", std::move(params));
}

Array slice_axis(const Array& x, int64_t axis, mil::Dim begin, mil::Dim end) {
  const int64_t position = axis < 0 ? axis + x.rank() : axis;
  if (position < 0 || position >= x.rank()) {
    fail(ErrorCode::InvalidArgument, "slice: axis {} of an array of shape {}", axis,
         mil::to_string(x.shape()));
  }
  std::vector<Index> indices(static_cast<size_t>(x.rank()), Index::all());
  indices[static_cast<size_t>(position)] = Index::range(std::move(begin), std::move(end));
  return slice(x, indices);
}

Array read_state(const State& state) {
  return record_one("read_state", {{"input", state}});
}

}  // namespace pippin::array
