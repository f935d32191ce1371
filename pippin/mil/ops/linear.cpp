// Matrix products.
#include <algorithm>
#include <array>

#include "pippin/mil/ops/einsum.h"
#include "pippin/mil/ops/families.h"
#include "pippin/mil/ops/product.h"
#include "pippin/mil/ops/rules.h"

namespace pippin::mil {
namespace {

Infos infer_linear(InferContext& context) {
  const ValueInfo &x = context.input("x"), &weight = context.input("weight");
  if (x.shape.empty() || weight.shape.size() != 2) {
    context.reject("x of rank {} and weight of rank {}", x.shape.size(), weight.shape.size());
  }
  context.require_equal(x.shape.back(), weight.shape[1], "x's last axis is the weight's");
  Shape shape = x.shape;
  shape.back() = weight.shape[0];
  if (context.has("bias")) {
    const ValueInfo& bias = context.input("bias");
    if (bias.shape.size() != 1) context.reject("bias has rank {}", bias.shape.size());
    context.require_equal(bias.shape[0], weight.shape[0], "one bias per output");
  }
  return one(tensor_info(x.type, std::move(shape)));
}

Tensors evaluate_linear(EvalContext& context) {
  const Tensor &x = context.input("x"), &weight = context.input("weight");
  const Tensor* bias = context.has("bias") ? &context.input("bias") : nullptr;
  const int64_t inputs = weight.shape[1], outputs = weight.shape[0];
  Dims shape = x.shape;
  shape.back() = outputs;
  Tensor result(x.type, shape);
  const int64_t rows = num_elements(Dims(x.shape.begin(), x.shape.end() - 1));
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t o = 0; o < outputs; ++o) {
      double sum = bias != nullptr ? bias->values[static_cast<size_t>(o)] : 0;
      const double* a = x.values.data() + row * inputs;
      const double* b = weight.values.data() + o * inputs;
      for (int64_t i = 0; i < inputs; ++i) sum += a[i] * b[i];
      result.values[static_cast<size_t>(row * outputs + o)] = sum;
    }
  }
  return one(std::move(result));
}

Infos infer_matmul(InferContext& context) {
  const ValueInfo &x = context.input("x"), &y = context.input("y");
  const bool mixed =
      context.opset() >= Opset::CoreML7 && (x.constant != nullptr) != (y.constant != nullptr);
  if (x.type != y.type && !mixed) {
    context.reject("x is {}, y {}", to_string(x.type), to_string(y.type));
  }
  // A constant takes the type of the other operand.
  const DataType type = x.constant != nullptr ? y.type : x.type;
  Shape a = x.shape, b = y.shape;
  if (a.empty() || b.empty()) context.reject("a matrix product needs axes");
  const bool vector_x = a.size() == 1, vector_y = b.size() == 1;
  if (vector_x) a.insert(a.begin(), Dim(1));
  if (vector_y) b.push_back(Dim(1));
  if (!vector_x && context.bool_param("transpose_x")) std::swap(a[a.size() - 2], a.back());
  if (!vector_y && context.bool_param("transpose_y")) std::swap(b[b.size() - 2], b.back());
  context.require_equal(a.back(), b[b.size() - 2], "the inner sizes must be equal");
  Shape shape = broadcast(context, Shape(a.begin(), a.end() - 2), Shape(b.begin(), b.end() - 2));
  if (!vector_x) shape.push_back(a[a.size() - 2]);
  if (!vector_y) shape.push_back(b.back());
  return one(tensor_info(type, std::move(shape)));
}

Tensor swap_last(const Tensor& x) {
  Dims perm;
  for (int64_t axis = 0; axis < x.rank(); ++axis) perm.push_back(axis);
  std::swap(perm[perm.size() - 2], perm.back());
  return transposed(x, perm);
}

Tensors evaluate_matmul(EvalContext& context) {
  Tensor x = context.input("x"), y = context.input("y");
  const bool vector_x = x.rank() == 1, vector_y = y.rank() == 1;
  if (vector_x) x.shape.insert(x.shape.begin(), 1);
  if (vector_y) y.shape.push_back(1);
  if (!vector_x && context.bool_param("transpose_x")) x = swap_last(x);
  // y is accessed by rows of its transpose.
  if (vector_y || !context.bool_param("transpose_y")) y = swap_last(y);
  const size_t rank_x = x.shape.size(), rank_y = y.shape.size();
  const int64_t rows = x.shape[rank_x - 2], inner = x.shape[rank_x - 1];
  const int64_t columns = y.shape[rank_y - 2];
  if (inner != y.shape[rank_y - 1]) context.reject("inner sizes differ");
  const Dims batch = broadcast(context, Dims(x.shape.begin(), x.shape.end() - 2),
                               Dims(y.shape.begin(), y.shape.end() - 2));
  Dims shape_x = batch, shape_y = batch, shape = batch;
  shape_x.insert(shape_x.end(), {rows, inner});
  shape_y.insert(shape_y.end(), {columns, inner});
  x = broadcast_to(context, x, shape_x);
  y = broadcast_to(context, y, shape_y);
  if (!vector_x) shape.push_back(rows);
  if (!vector_y) shape.push_back(columns);
  Tensor result(x.type, shape);
  size_t next = 0;
  for (int64_t n = 0; n < num_elements(batch); ++n) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        const double* a = x.values.data() + (n * rows + i) * inner;
        const double* b = y.values.data() + (n * columns + j) * inner;
        double sum = 0;
        for (int64_t k = 0; k < inner; ++k) sum += a[k] * b[k];
        result.values[next++] = sum;
      }
    }
  }
  return one(std::move(result));
}

// The equation for operands of these ranks.
Einsum einsum_of(const OpContext& context, size_t rank_x, size_t rank_y) {
  const std::string equation = context.string_param("equation");
  try {
    Einsum einsum = parse_einsum(equation);
    if (einsum.operands[0].size() == rank_x && einsum.operands[1].size() == rank_y) return einsum;
  } catch (const Error& error) {
    context.reject("{}", error.what());
  }
  context.reject("equation \"{}\" does not fit ranks {} and {}", equation, rank_x, rank_y);
}

Infos infer_einsum(InferContext& context) {
  const std::vector<const ValueInfo*> values = context.inputs("values");
  if (values.size() != 2) context.reject("{} values, needs 2", values.size());
  if (values[0]->type != values[1]->type) context.reject("values of different types");
  const Einsum equation = einsum_of(context, values[0]->shape.size(), values[1]->shape.size());
  std::map<char, Dim> sizes;
  for (size_t v = 0; v < 2; ++v) {
    for (size_t i = 0; i < values[v]->shape.size(); ++i) {
      const Dim& dim = values[v]->shape[i];
      const auto [it, fresh] = sizes.emplace(equation.operands[v][i], dim);
      if (!fresh) it->second = broadcast(context, {it->second}, {dim})[0];
    }
  }
  Shape shape;
  for (const char letter : equation.result) shape.push_back(sizes.at(letter));
  return one(tensor_info(values[0]->type, std::move(shape)));
}

Tensors evaluate_einsum(EvalContext& context) {
  const std::vector<const Tensor*> values = context.inputs("values");
  const Einsum equation =
      einsum_of(context, values.at(0)->shape.size(), values.at(1)->shape.size());
  std::map<char, int64_t> sizes;
  for (size_t v = 0; v < 2; ++v) {
    for (size_t i = 0; i < values[v]->shape.size(); ++i) {
      const auto [it, fresh] = sizes.emplace(equation.operands[v][i], values[v]->shape[i]);
      if (!fresh) it->second = broadcast(context, {it->second}, {values[v]->shape[i]})[0];
    }
  }
  // The result's letters first, then the summed ones: iterates over all index combinations.
  std::string letters = equation.result;
  for (const auto& [letter, size] : sizes) {
    if (letters.find(letter) == std::string::npos) letters += letter;
  }
  Dims result_shape, summed_shape;
  std::array<Dims, 2> strides;
  for (size_t i = 0; i < letters.size(); ++i) {
    (i < equation.result.size() ? result_shape : summed_shape).push_back(sizes.at(letters[i]));
    for (size_t v = 0; v < 2; ++v) {
      const Dims own = strides_of(values[v]->shape);
      int64_t stride = 0;
      for (size_t axis = 0; axis < own.size(); ++axis) {
        if (equation.operands[v][axis] == letters[i] && values[v]->shape[axis] != 1) {
          stride += own[axis];
        }
      }
      strides[v].push_back(stride);
    }
  }
  Tensor result(values[0]->type, result_shape);
  size_t next = 0;
  for_each_index(result_shape, [&](const Dims& outer) {
    double sum = 0;
    for_each_index(summed_shape, [&](const Dims& inner) {
      Dims index = outer;
      index.insert(index.end(), inner.begin(), inner.end());
      sum += values[0]->values[static_cast<size_t>(offset_of(index, strides[0]))] *
             values[1]->values[static_cast<size_t>(offset_of(index, strides[1]))];
    });
    result.values[next++] = sum;
  });
  return one(std::move(result));
}

}  // namespace

std::vector<OpDef> linear_ops() {
  return {
      {.name = "linear",
       .parameters = {tensor("x", "fi"), tensor("weight", "fi"), optional_tensor("bias", "fi")},
       .infer = infer_linear,
       .evaluate = evaluate_linear,
       .doc = "x times the transposed weight [out, in], plus bias [out], on the last axis of x.",
       .product = linear_product},
      {.name = "matmul",
       .parameters = {tensor("x", "fi"), tensor("y", "fi"),
                      optional_constant("transpose_x", "b", false),
                      optional_constant("transpose_y", "b", false)},
       .infer = infer_matmul,
       .evaluate = evaluate_matmul,
       .doc = "Matrix product over the last two axes, the leading ones broadcast. A rank-1 operand "
              "is a row (x) or a column (y) and its axis is dropped from the result. Since CoreML7 "
              "one operand may be a constant of another type; the result has the other's.",
       .product = matmul_product},
      {.name = "einsum",
       .parameters = {tuple("values", "fi"), constant("equation", "s")},
       .infer = infer_einsum,
       .evaluate = evaluate_einsum,
       .doc = "Sum of products of two tensors, as the equation's letters name their axes: letters "
              "that the result lacks are summed over. Axes of size 1 broadcast.",
       .product = einsum_product},
  };
}

}  // namespace pippin::mil
