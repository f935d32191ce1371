#include "pippin/mx/ops/quantized.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/mx/core/convert.h"
#include "pippin/mx/core/copy.h"
#include "pippin/mx/core/eval.h"
#include "pippin/mx/core/primitive.h"
#include "pippin/mx/loops/product.h"
#include "pippin/mx/loops/quantized_product.h"
#include "pippin/mx/ops/binary.h"
#include "pippin/mx/ops/create.h"
#include "pippin/mx/ops/indices.h"
#include "pippin/mx/ops/quantize_weights.h"
#include "pippin/mx/ops/shape_ops.h"
#include "pippin/mx/ops/unary.h"
#include "pippin/mx/record/record_quantized.h"
#include "pippin/mx/record/recorder.h"

namespace pippin::mx {
namespace {

// All matrices of w[..., n, words], in order.
struct QuantizedNodes {
  Ref<Node> codes, scales, biases;
  kernels::AffineMatrix first;
  int64_t code_bytes, scale_bytes;  // per matrix

  QuantizedNodes(const Node& out, size_t at, int group, int bits)
      : codes(row_major(out.inputs[at])),
        scales(row_major(out.inputs[at + 1])),
        biases(row_major(out.inputs[at + 2])) {
    const size_t rank = codes->shape.size();
    const int64_t rows = codes->shape[rank - 2], words = codes->shape[rank - 1];
    const auto type = scales->dtype == float16    ? kernels::WeightType::F16
                      : scales->dtype == bfloat16 ? kernels::WeightType::BF16
                                                  : kernels::WeightType::F32;
    first = {reinterpret_cast<const uint8_t*>(codes->data),
             rows,
             words * 32 / bits,
             bits,
             group,
             scales->data,
             biases->data,
             type};
    code_bytes = rows * words * 4;
    scale_bytes = rows * (first.k / group) * static_cast<int64_t>(size_of(scales->dtype));
  }
  kernels::AffineMatrix matrix(int64_t i) const {
    kernels::AffineMatrix result = first;
    result.codes += i * code_bytes;
    result.scales = static_cast<const std::byte*>(first.scales) + i * scale_bytes;
    result.biases = static_cast<const std::byte*>(first.biases) + i * scale_bytes;
    return result;
  }
};

// Inputs: codes, scales, biases.
class Dequantize final : public PrimitiveWith<Dequantize> {
 public:
  Dequantize(int group, int bits) : group_(group), bits_(bits) {}
  std::string_view name() const noexcept override { return "dequantize"; }
  void eval(Node& out) const override {
    const QuantizedNodes w(out, 0, group_, bits_);
    out.allocate();
    kernels::AffineMatrix all = w.first;
    all.n = all.k == 0 ? 0 : out.size / all.k;
    parallel(all.n, out.size, [&](int64_t begin, int64_t end) {
      std::vector<float> row(static_cast<size_t>(all.k));
      const auto* from = reinterpret_cast<const std::byte*>(row.data());
      const int64_t bytes = all.k * static_cast<int64_t>(size_of(out.dtype));
      for (int64_t j = begin; j < end; ++j) {
        expand_quantized(all, j, row.data());
        convert(from, float32, 1, out.data + j * bytes, out.dtype, 1, all.k);
      }
    });
  }
  // Accepts constants, or rows gathered from constants: an embedding.
  void record(Recorder& recorder, const Node& out) const override {
    const Node* parts[] = {out.inputs[0].get(), out.inputs[1].get(), out.inputs[2].get()};
    const Node* taken = recorder.is_constant(*parts[0]) ? nullptr : parts[0];
    for (const Node*& part : parts) {
      if (taken == nullptr) break;
      if (!part->primitive || part->primitive->name() != "take" ||
          part->inputs[1].get() != taken->inputs[1].get()) {
        refuse_record(name(), "of quantized values that are computed ");
      }
      part = part->inputs[0].get();
    }
    const auto w = record_quantized(recorder, name(), *parts[0], *parts[1], *parts[2], group_,
                                    bits_, mil_type(out.dtype));
    if (taken == nullptr) return recorder.define(out, w);
    const auto rows = recorder.indices(*taken, 1, w.shape()[0]);
    recorder.define(out, pippin::array::gather(w, rows, 0));
  }
  bool records_inputs() const override { return false; }
  auto members() const { return std::tie(group_, bits_); }

 private:
  int group_, bits_;
};

// Inputs: x, codes, scales, biases[, indices of x's matrices, indices of w's]. Without indices,
// matrices are paired in order, or all of x's rows are multiplied with the one matrix.
class QuantizedMatmul final : public PrimitiveWith<QuantizedMatmul> {
 public:
  QuantizedMatmul(int group, int bits, bool transpose)
      : group_(group), bits_(bits), transpose_(transpose) {}
  std::string_view name() const noexcept override { return "quantized_matmul"; }
  void eval(Node& out) const override {
    const Ref<Node> x = row_major_as(out.inputs[0], float32);
    const QuantizedNodes w(out, 1, group_, bits_);
    const std::vector<Product> products = products_of(out, *x, *out.inputs[1]);
    if (out.size == 0) return out.allocate();
    compute_as(out, float32, [&](Node& sums) {
      QuantizedProduct next{w.first, reinterpret_cast<float*>(sums.data)};
      for (const Product& product : products) {
        next.w = w.matrix(product.matrix);
        const float* from = reinterpret_cast<const float*>(x->data) + product.row * x->shape.back();
        if (transpose_) {
          multiply_quantized({&next, 1}, from, product.rows);
        } else {
          multiply_expanded(next, from, product.rows);
        }
        next.y += product.rows * out.shape.back();
      }
    });
  }
  bool goes_with(const Primitive& other) const override {
    return transpose_ && other.name() == name() && same_as(other);
  }
  // Products of the same x, each with its own matrix, are computed as one task for the threads.
  void eval_together(std::span<Node* const> outs) const override {
    std::vector<QuantizedNodes> weights;
    weights.reserve(outs.size());
    bool is_plain = true;
    for (const Node* out : outs) {
      is_plain = is_plain && out->inputs.size() == 4 && out->size > 0;
      if (!is_plain) break;
      weights.emplace_back(*out, 1, group_, bits_);
      is_plain =
          weights.back().codes->size == weights.back().first.n * out->inputs[1]->shape.back();
    }
    if (!is_plain) return Primitive::eval_together(outs);
    const Ref<Node> x = row_major_as(outs[0]->inputs[0], float32);
    std::vector<QuantizedProduct> products;
    std::vector<Ref<Node>> sums;
    for (size_t i = 0; i < outs.size(); ++i) {
      outs[i]->allocate();
      sums.push_back(Ref<Node>::share(outs[i]));
      if (outs[i]->dtype != float32) {
        sums[i] = Ref<Node>(new Node(float32, outs[i]->shape));
        sums[i]->allocate();
      }
      products.push_back({weights[i].first, reinterpret_cast<float*>(sums[i]->data)});
    }
    multiply_quantized(products, reinterpret_cast<const float*>(x->data),
                       x->size / x->shape.back());
    for (size_t i = 0; i < outs.size(); ++i) {
      if (sums[i].get() != outs[i]) copy_to(*sums[i], outs[i]->data, outs[i]->dtype);
    }
  }
  void record(Recorder& recorder, const Node& out) const override {
    if (out.inputs.size() > 4) refuse_record("gather_qmm", "");
    const Recorder::Value& x = recorder.input(out, 0);
    const auto w = record_quantized(recorder, name(), *out.inputs[1], *out.inputs[2],
                                    *out.inputs[3], group_, bits_, mil_type(out.dtype));
    recorder.define(out, transpose_ && w.rank() == 2
                             ? pippin::array::linear(x, w)
                             : pippin::array::matmul(x, w, false, transpose_));
  }
  auto members() const { return std::tie(group_, bits_, transpose_); }

 private:
  struct Product {
    int64_t row, rows, matrix;
  };

  static std::vector<Product> products_of(const Node& out, const Node& x, const Node& codes) {
    const size_t rank = codes.shape.size();
    int64_t matrices = 1;
    for (size_t i = 0; i + 2 < rank; ++i) matrices *= codes.shape[i];
    const int64_t rows = x.shape.size() < 2 ? 1 : x.shape[x.shape.size() - 2];
    const int64_t all_rows = x.shape.back() == 0 ? 0 : x.size / x.shape.back();
    if (out.inputs.size() <= 4) {
      if (matrices == 1) return {{0, all_rows, 0}};
      std::vector<Product> result;
      for (int64_t i = 0; i < matrices; ++i) result.push_back({i * rows, rows, i});
      return result;
    }
    const std::vector<int64_t> left =
        read_indices("gather_qmm", *out.inputs[4], rows == 0 ? 0 : all_rows / rows);
    const std::vector<int64_t> right = read_indices("gather_qmm", *out.inputs[5], matrices);
    std::vector<Product> result;
    for (size_t i = 0; i < left.size(); ++i) {
      const Product next{left[i] * rows, rows, right[i]};
      // Consecutive rows with the same matrix form one product.
      if (!result.empty() && result.back().matrix == next.matrix &&
          result.back().row + result.back().rows == next.row) {
        result.back().rows += rows;
      } else {
        result.push_back(next);
      }
    }
    return result;
  }

  static void multiply_expanded(const QuantizedProduct& product, const float* x, int64_t m) {
    const kernels::AffineMatrix& w = product.w;
    const Ref<Buffer> expanded = Buffer::allocate(static_cast<size_t>(w.n * w.k) * sizeof(float));
    auto* rows = reinterpret_cast<float*>(expanded->data());
    parallel(w.n, w.n * w.k, [&](int64_t begin, int64_t end) {
      for (int64_t j = begin; j < end; ++j) expand_quantized(w, j, rows + j * w.k);
    });
    const ProductOffsets offsets{0, 0};
    multiply_matrices({float32, m, w.k, w.n, reinterpret_cast<const std::byte*>(x), w.n, 1,
                       expanded->data(), w.k, 1, nullptr, reinterpret_cast<std::byte*>(product.y)},
                      {&offsets, 1});
  }

  int group_, bits_;
  bool transpose_;
};

void check_mode(const char* op, const std::string& mode, int group_size, int bits) {
  if (mode != "affine") {
    fail(mode == "mxfp4" || mode == "mxfp8" || mode == "nvfp4" ? ErrorCode::Unsupported
                                                               : ErrorCode::InvalidArgument,
         "[{}] The mode \"{}\" is not supported: \"affine\" is.", op, mode);
  }
  if (group_size != 32 && group_size != 64 && group_size != 128) {
    fail(ErrorCode::InvalidArgument, "[{}] Groups are of 32, 64 or 128, not {}.", op, group_size);
  }
  if (bits < 2 || bits > 8 || bits == 7) {
    fail(ErrorCode::InvalidArgument, "[{}] Codes have 2, 3, 4, 5, 6 or 8 bits, not {}.", op, bits);
  }
}

struct Weights {
  array codes, scales, biases;
};

// Checks that the parts match, and converts scales and biases to one type.
Weights check_weights(const char* op, const array& w, const array& scales,
                      const std::optional<array>& biases, int group_size, int bits) {
  if (!biases) fail(ErrorCode::InvalidArgument, "[{}] Biases are needed.", op);
  if (w.dtype() != uint32) {
    fail(ErrorCode::InvalidArgument, "[{}] Codes are packed into uint32, not {}.", op,
         to_string(w.dtype()));
  }
  bool fits = w.ndim() >= 1 && scales.ndim() == w.ndim() && scales.shape() == biases->shape();
  for (size_t i = 0; fits && i + 1 < w.ndim(); ++i) fits = w.shape()[i] == scales.shape()[i];
  fits = fits && w.shape(-1) * 32 == scales.shape(-1) * group_size * bits;
  if (!fits) {
    fail(ErrorCode::InvalidArgument,
         "[{}] Codes of shape {}, scales of {} and biases of {} do not go together with groups of "
         "{} and {} bits.",
         op, to_string(w.shape()), to_string(scales.shape()), to_string(biases->shape()),
         group_size, bits);
  }
  const Dtype dtype = promote_types(scales.dtype(), biases->dtype());
  if (!is_floating(dtype)) {
    fail(ErrorCode::InvalidArgument, "[{}] Scales are floats, not {}.", op, to_string(dtype));
  }
  const Dtype stored = dtype == float64 ? float32 : dtype;
  return {w, astype(scales, stored), astype(*biases, stored)};
}

}  // namespace

std::vector<array> quantize(const array& w, int group_size, int bits, const std::string& mode) {
  check_mode("quantize", mode, group_size, bits);
  if (!is_floating(w.dtype())) {
    fail(ErrorCode::InvalidArgument, "[quantize] Weights are floats, not {}.",
         to_string(w.dtype()));
  }
  if (w.ndim() < 2 || w.shape(-1) % group_size != 0) {
    fail(ErrorCode::InvalidArgument,
         "[quantize] The last axis of at least two has to be a multiple of {}: the shape is {}.",
         group_size, to_string(w.shape()));
  }
  return quantize_weights(w.dtype() == float64 ? astype(w, float32) : w, group_size, bits);
}

array dequantize(const array& w, const array& scales, const std::optional<array>& biases,
                 int group_size, int bits, const std::string& mode, std::optional<Dtype> dtype) {
  check_mode("dequantize", mode, group_size, bits);
  const Weights weights = check_weights("dequantize", w, scales, biases, group_size, bits);
  Shape shape = w.shape();
  shape.back() = shape.back() * 32 / bits;
  // One axis must be split in two for the rows of a vector.
  const array codes = w.ndim() < 2 ? expand_dims(weights.codes, 0) : weights.codes;
  const array s = w.ndim() < 2 ? expand_dims(weights.scales, 0) : weights.scales;
  const array b = w.ndim() < 2 ? expand_dims(weights.biases, 0) : weights.biases;
  return make(new_primitive<Dequantize>(group_size, bits), dtype ? *dtype : s.dtype(),
              std::move(shape), {&codes, &s, &b});
}

array quantized_matmul(const array& in_x, const array& w, const array& scales,
                       const std::optional<array>& biases, bool transpose, int group_size, int bits,
                       const std::string& mode) {
  constexpr const char* kName = "quantized_matmul";
  check_mode(kName, mode, group_size, bits);
  const Weights weights = check_weights(kName, w, scales, biases, group_size, bits);
  if (in_x.ndim() == 0 || w.ndim() < 2 || !is_floating(in_x.dtype())) {
    fail(ErrorCode::InvalidArgument, "[{}] x of shape {} and type {}, weights of shape {}.", kName,
         to_string(in_x.shape()), to_string(in_x.dtype()), to_string(w.shape()));
  }
  const Dtype dtype = promote_types(in_x.dtype(), weights.scales.dtype());
  array x = in_x.ndim() == 1 ? expand_dims(in_x, 0) : in_x;
  const int64_t rows = w.shape(-2), columns = w.shape(-1) * 32 / bits;
  if (x.shape(-1) != (transpose ? columns : rows)) {
    fail(ErrorCode::InvalidArgument,
         "[{}] x of shape {} and weights of {} by {} ({}transposed) do not go together.", kName,
         to_string(x.shape()), rows, columns, transpose ? "" : "not ");
  }
  // Several matrices of weights are paired with those of x.
  Shape batch(w.shape().begin(), w.shape().end() - 2);
  array codes = weights.codes, s = weights.scales, b = weights.biases;
  Shape shape(x.shape().begin(), x.shape().end() - 2);
  if (num_elements(batch) != 1) {
    shape = broadcast_shapes(kName, batch, shape);
    const auto spread = [&shape](const array& a) {
      Shape whole = shape;
      whole.push_back(a.shape(-2));
      whole.push_back(a.shape(-1));
      return broadcast_to(a, whole);
    };
    x = spread(x), codes = spread(codes), s = spread(s), b = spread(b);
  }
  shape.push_back(x.shape(-2));
  shape.push_back(transpose ? rows : columns);
  const array result = make(new_primitive<QuantizedMatmul>(group_size, bits, transpose),
                            dtype == float64 ? float32 : dtype, std::move(shape),
                            std::span<const array>(std::vector<array>{x, codes, s, b}));
  const array typed = astype(result, dtype);
  return in_x.ndim() == 1 ? squeeze(typed, -2) : typed;
}

array gather_qmm(const array& x, const array& w, const array& scales,
                 const std::optional<array>& biases, const std::optional<array>& lhs_indices,
                 const std::optional<array>& rhs_indices, bool transpose, int group_size, int bits,
                 const std::string& mode, bool) {
  constexpr const char* kName = "gather_qmm";
  if (!lhs_indices && !rhs_indices) {
    return quantized_matmul(x, w, scales, biases, transpose, group_size, bits, mode);
  }
  check_mode(kName, mode, group_size, bits);
  const Weights weights = check_weights(kName, w, scales, biases, group_size, bits);
  const int64_t rows = w.ndim() < 2 ? 0 : w.shape(-2), columns = w.shape(-1) * 32 / bits;
  if (x.ndim() < 2 || w.ndim() < 2 || !is_floating(x.dtype()) ||
      x.shape(-1) != (transpose ? columns : rows)) {
    fail(ErrorCode::InvalidArgument,
         "[{}] x of shape {} and type {} and weights of {} by {} ({}transposed) do not go "
         "together.",
         kName, to_string(x.shape()), to_string(x.dtype()), rows, columns, transpose ? "" : "not ");
  }
  const array left = lhs_indices ? *lhs_indices : every_matrix(x);
  const array right = rhs_indices ? *rhs_indices : every_matrix(w);
  check_index_type(kName, left);
  check_index_type(kName, right);
  Shape shape = broadcast_shapes(kName, left.shape(), right.shape());
  const std::vector<array> inputs = {x,
                                     weights.codes,
                                     weights.scales,
                                     weights.biases,
                                     broadcast_to(left, shape),
                                     broadcast_to(right, shape)};
  shape.push_back(x.shape(-2));
  shape.push_back(transpose ? rows : columns);
  const Dtype dtype = promote_types(x.dtype(), weights.scales.dtype());
  return make(new_primitive<QuantizedMatmul>(group_size, bits, transpose),
              dtype == float64 ? float32 : dtype, std::move(shape), std::span<const array>(inputs));
}

}  // namespace pippin::mx
