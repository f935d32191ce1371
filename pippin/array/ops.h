// Operations on lazy arrays: free functions, each of which records one MIL operation (array.h).
//
// A number next to an Array becomes a constant of the array's element type. Axes may be negative.
// Sizes and bounds are mil::Dims: numbers, or symbols of the inputs, which the program computes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "pippin/array/array.h"

namespace pippin::array {

// Constants.
Array constant(mil::Value value, std::string_view name = "const");
Array constant(int32_t value);
Array constant(std::span<const int64_t> values);  // an int32 vector
Array constant(mil::DataType type, double value);
// `values` are row-major and are rounded to the type. A warning names constants with finite values
// that fp16 makes infinite.
Array constant(mil::DataType type, std::vector<int64_t> dims, std::span<const double> values,
               std::string_view name = "const");
Array zeros(mil::DataType type, std::vector<int64_t> dims, std::string_view name = "zeros");
// Weights are not copied until a package is written or a plan is made.
Array weight(std::string_view name, mil::DataType type, std::vector<int64_t> dims,
             std::shared_ptr<const mil::TensorSource> source);

// Elementwise, with NumPy's broadcasting.
Array add(const Array& x, const Array& y);
Array subtract(const Array& x, const Array& y);
Array multiply(const Array& x, const Array& y);
Array divide(const Array& x, const Array& y);
Array floor_divide(const Array& x, const Array& y);
Array mod(const Array& x, const Array& y);
Array pow(const Array& x, const Array& y);
Array maximum(const Array& x, const Array& y);
Array minimum(const Array& x, const Array& y);
Array add(const Array& x, double y);
Array subtract(const Array& x, double y);
Array multiply(const Array& x, double y);
Array divide(const Array& x, double y);
Array pow(const Array& x, double y);
Array maximum(const Array& x, double y);
Array minimum(const Array& x, double y);
inline Array operator+(const Array& x, const Array& y) {
  return add(x, y);
}
inline Array operator-(const Array& x, const Array& y) {
  return subtract(x, y);
}
inline Array operator*(const Array& x, const Array& y) {
  return multiply(x, y);
}
inline Array operator/(const Array& x, const Array& y) {
  return divide(x, y);
}
inline Array operator+(const Array& x, double y) {
  return add(x, y);
}
inline Array operator-(const Array& x, double y) {
  return subtract(x, y);
}
inline Array operator*(const Array& x, double y) {
  return multiply(x, y);
}
inline Array operator/(const Array& x, double y) {
  return divide(x, y);
}

Array equal(const Array& x, const Array& y);
Array less(const Array& x, const Array& y);
Array less_equal(const Array& x, const Array& y);
Array greater(const Array& x, const Array& y);
Array greater_equal(const Array& x, const Array& y);
Array logical_and(const Array& x, const Array& y);
Array logical_or(const Array& x, const Array& y);
Array logical_not(const Array& x);
Array select(const Array& condition, const Array& a, const Array& b);

Array abs(const Array& x);
Array exp(const Array& x);
Array sqrt(const Array& x);
Array rsqrt(const Array& x);
// 1 / sqrt(x + epsilon).
Array rsqrt(const Array& x, double epsilon);
Array square(const Array& x);
Array sin(const Array& x);
Array cos(const Array& x);
Array tanh(const Array& x);
Array relu(const Array& x);
Array sigmoid(const Array& x);
Array silu(const Array& x);
Array softplus(const Array& x);
Array gelu(const Array& x, std::string_view mode = "EXACT");  // or "TANH_APPROXIMATION"
Array clip(const Array& x, double lower, double upper);
Array softmax(const Array& x, int64_t axis = -1);
Array cast(const Array& x, mil::DataType type);  // returns x if it already has the type

// Reductions.
Array reduce_sum(const Array& x, std::vector<int64_t> axes, bool keep_dims = false);
Array reduce_mean(const Array& x, std::vector<int64_t> axes, bool keep_dims = false);
Array reduce_max(const Array& x, std::vector<int64_t> axes, bool keep_dims = false);
struct TopK {
  Array values, indices;
};
TopK topk(const Array& x, int64_t k, int64_t axis = -1);

// Products.
Array matmul(const Array& x, const Array& y, bool transpose_x = false, bool transpose_y = false);
// x · weightᵀ + bias; weight (out, in). Without a bias, writes one of zeros, as coremltools does.
Array linear(const Array& x, const Array& weight, const std::optional<Array>& bias = std::nullopt);
// softmax(query · keyᵀ / √head_dim + mask) · value.
Array scaled_dot_product_attention(const Array& query, const Array& key, const Array& value,
                                   const std::optional<Array>& mask = std::nullopt);
// An epsilon that x's type rounds to 0 is fp32, here and above. gamma and beta must have the
// epsilon's type, which from iOS 17 on may differ from x's.
Array layer_norm(const Array& x, std::vector<int64_t> axes, const std::optional<Array>& gamma,
                 const std::optional<Array>& beta, double epsilon);

// Shapes.
Array shape_of(const Array& x);
Array reshape(const Array& x, const mil::Shape& shape);
Array transpose(const Array& x, std::vector<int64_t> permutation);
Array expand_dims(const Array& x, std::vector<int64_t> axes);
Array squeeze(const Array& x, std::vector<int64_t> axes);
Array concat(const std::vector<Array>& values, int64_t axis);
std::vector<Array> split(const Array& x, std::vector<int64_t> sizes, int64_t axis);
Array tile(const Array& x, std::vector<int64_t> repetitions);
Array gather(const Array& x, const Array& indices, int64_t axis = 0);
Array range(const Array& start, const Array& end);

// One axis of a slice.
class Index {
 public:
  static Index all() { return Index(Kind::All, 0, 0); }
  static Index at(mil::Dim position) { return Index(Kind::At, std::move(position), 0); }
  static Index range(mil::Dim begin, mil::Dim end) {
    return Index(Kind::Range, std::move(begin), std::move(end));
  }

 private:
  friend struct SliceParams;
  enum class Kind { All, At, Range };
  Index(Kind kind, mil::Dim begin, mil::Dim end)
      : kind_(kind), begin_(std::move(begin)), end_(std::move(end)) {}
  Kind kind_;
  mil::Dim begin_, end_;
};

// One Index per axis; missing last ones are all(). at() drops its axis.
Array slice(const Array& x, const std::vector<Index>& indices);
// Returns x with that slice replaced.
Array slice_update(const Array& x, const Array& update, const std::vector<Index>& indices);
// Returns [begin, end) of one axis, and all of the others.
Array slice_axis(const Array& x, int64_t axis, mil::Dim begin, mil::Dim end);

// States.
Array read_state(const State& state);
void write_state(const State& state, const Array& value);

}  // namespace pippin::array
