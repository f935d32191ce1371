// Matrix products and embeddings.
#include <limits>
#include <numeric>

#include "pippin/base/error.h"
#include "pippin/mil/networks/layers.h"

namespace pippin::mil::networks {
namespace {

struct Matrix {
  int64_t inputs = 0, outputs = 0;
  Field weights{20, "weights"}, bias{21, "bias"};
};

void check_matrix(const Matrix& matrix) {
  if (matrix.inputs > 0 && matrix.outputs > 0) return;
  fail(ErrorCode::InvalidFile, "the weights have {} inputs and {} outputs; both must be above 0",
       matrix.inputs, matrix.outputs);
}

// x quantized to 8 bits with one scale, as the runtime multiplies it by 8-bit weights.
Var* quantized(Graph& graph, Var* x) {
  constexpr float kLargest = 127;
  std::vector<int64_t> axes(static_cast<size_t>(graph.rank(x)));
  std::iota(axes.begin(), axes.end(), 0);
  Var* most = graph.add(
      "reduce_max",
      {{"x", {unary(graph, "abs", x)}}, {"axes", {integers(axes)}}, {"keep_dims", {flag(true)}}});
  most = binary(graph, "maximum", most, number(std::numeric_limits<float>::min() * kLargest));
  Var* scale = binary(graph, "real_div", most, number(kLargest));
  Var* rounded = unary(graph, "round", binary(graph, "real_div", x, scale));
  return binary(graph, "mul", rounded, scale);
}

// x times weights [outputs, inputs] along the last axis.
Var* multiplied(Network& network, const Fields& parameters, const Matrix& matrix, Var* x) {
  constexpr Field kSignedBytes{31, "int8RawValue"};
  Graph& graph = network.graph;
  check_matrix(matrix);
  if (parameters.message(matrix.weights).has(kSignedBytes)) x = quantized(graph, x);
  Var* weight = network.weights(parameters, matrix.weights, {matrix.outputs, matrix.inputs});
  const bool biased = Network::has_weights(parameters, matrix.bias);
  Var* bias = biased ? network.weights(parameters, matrix.bias, {matrix.outputs}) : nullptr;
  if (graph.rank(x) <= 3) {
    Graph::Arguments arguments = {{"x", {x}}, {"weight", {weight}}};
    if (biased) arguments.push_back({"bias", {bias}});
    return graph.add("linear", std::move(arguments));
  }
  Var* product = graph.add("matmul", {{"x", {x}}, {"y", {weight}}, {"transpose_y", {flag(true)}}});
  return biased ? binary(graph, "add", product, bias) : product;
}

// Throws InvalidFile if channels, rows and columns are known and not `inputs` numbers.
void check_columns(const Graph& graph, const Var* x, int64_t inputs) {
  const Shape& shape = graph.shape(x);
  const Dim count = num_elements(Shape(shape.end() - 3, shape.end()));
  if (!count.is_constant() || count == Dim(inputs)) return;
  fail(ErrorCode::InvalidFile, "an input {}, the weights are for {} numbers", to_string(shape),
       inputs);
}

// From rank 4 on, channels, rows and columns are one axis.
void translate_inner_product(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const Fields& parameters = layer.parameters;
  const Matrix matrix{parameters.integer({1, "inputChannels"}),
                      parameters.integer({2, "outputChannels"})};
  const Slot x = network.floats(layer, 0);
  const int64_t rank = graph.rank(x.var);
  if (rank < 4) return network.set(layer, multiplied(network, parameters, matrix, x.var), x);
  check_columns(graph, x.var, matrix.inputs);
  Var* rows = reshaped(graph, x.var, std::vector<int64_t>{-1, matrix.inputs});
  Var* result = multiplied(network, parameters, matrix, rows);
  if (rank == 4) return network.set(layer, expanded(graph, result, {2, 3}), x);
  std::vector<Size> sizes = {size_of(graph, x.var, 0), {-1}, {matrix.outputs}, {1}, {1}};
  network.set(layer, 0, reshaped(graph, result, sizes));
}

void translate_matmul(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const Fields& parameters = layer.parameters;
  const bool transpose_a = parameters.flag({1, "transposeA"});
  const bool transpose_b = parameters.flag({2, "transposeB"});
  Var* a = network.real(layer, 0);
  if (layer.inputs.size() > 1) {
    Var* b = network.real(layer, 1);
    if (graph.rank(a) == 1) a = expanded(graph, a, {0});
    if (graph.rank(b) == 1) b = expanded(graph, b, {1});
    return network.set(layer, 0,
                       graph.add("matmul", {{"x", {a}},
                                            {"y", {b}},
                                            {"transpose_x", {flag(transpose_a)}},
                                            {"transpose_y", {flag(transpose_b)}}}));
  }
  const Matrix matrix{parameters.integer({5, "weightMatrixFirstDimension"}),
                      parameters.integer({6, "weightMatrixSecondDimension"}),
                      {8, "weights"},
                      {9, "bias"}};
  network.set(layer, 0, multiplied(network, parameters, matrix, a));
}

// The embedding vectors of indices, [..., outputs].
Var* looked_up(Network& network, const Fields& parameters, const Matrix& matrix, Var* indices) {
  Graph& graph = network.graph;
  check_matrix(matrix);
  auto source = network.weight_source(parameters, matrix.weights, {matrix.outputs, matrix.inputs});
  Var* table = network.constant(transposed_source(std::move(source), matrix.outputs, matrix.inputs),
                                {matrix.inputs, matrix.outputs});
  Var* result =
      graph.add("gather", {{"x", {table}}, {"indices", {indices}}, {"axis", {integer(0)}}});
  if (!Network::has_weights(parameters, matrix.bias)) return result;
  return binary(graph, "add", result, network.weights(parameters, matrix.bias, {matrix.outputs}));
}

void translate_embedding(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const Fields& parameters = layer.parameters;
  const Matrix matrix{parameters.integer({1, "inputDim"}),
                      parameters.integer({2, "outputChannels"})};
  const Slot x = network.slot(layer, 0);
  const int64_t rank = graph.rank(x.var);
  if (rank < 4) fail(ErrorCode::InvalidFile, "an input of rank {}, not 4 or 5", rank);
  Var* indices =
      squeezed(graph, graph.cast(x.var, DataType::Int32), {rank - 3, rank - 2, rank - 1});
  Var* vectors = looked_up(network, parameters, matrix, indices);
  network.set(layer, expanded(graph, vectors, {rank - 2, rank - 1}), x);
}

void translate_embedding_nd(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  const Matrix matrix{parameters.integer({1, "vocabSize"}),
                      parameters.integer({2, "embeddingSize"})};
  Var* indices = network.integral(layer, 0);
  indices = squeezed(network.graph, indices, {network.graph.rank(indices) - 1});
  network.set(layer, 0, looked_up(network, parameters, matrix, indices));
}

}  // namespace

std::span<const LayerKind> product_layers() {
  static constexpr LayerKind kKinds[] = {{140, "innerProduct", translate_inner_product},
                                         {150, "embedding", translate_embedding},
                                         {1040, "embeddingND", translate_embedding_nd},
                                         {1045, "batchedMatmul", translate_matmul}};
  return kKinds;
}

}  // namespace pippin::mil::networks
