// Reductions over axes.
#include <numeric>

#include "pippin/base/error.h"
#include "pippin/mil/networks/layers.h"

namespace pippin::mil::networks {
namespace {

Var* reduced(Graph& graph, std::string_view op, Var* x, const std::vector<int64_t>& axes,
             bool keep) {
  return graph.add(op, {{"x", {x}}, {"axes", {integers(axes)}}, {"keep_dims", {flag(keep)}}});
}

enum Mode : int64_t {
  ReduceSum,
  ReduceAvg,
  ReduceProd,
  ReduceLogSum,
  ReduceSumSquare,
  ReduceL1,
  ReduceL2,
  ReduceMax,
  ReduceMin,
  ReduceArgMax
};
constexpr std::string_view kOps[] = {
    "reduce_sum",     "reduce_mean",    "reduce_prod", "reduce_sum", "reduce_sum_square",
    "reduce_l1_norm", "reduce_l2_norm", "reduce_max",  "reduce_min", "reduce_argmax"};

void translate_reduce(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const Fields& parameters = layer.parameters;
  const std::vector<int64_t> axes_of[] = {{-3, -2, -1}, {-2, -1}, {-3}, {-2}, {-1}};
  const auto mode = static_cast<size_t>(parameters.integer({1, "mode"}));
  const auto axis = static_cast<size_t>(parameters.integer({3, "axis"}));
  if (mode >= std::size(kOps)) fail(ErrorCode::InvalidFile, "unknown reduce mode {}", mode);
  if (axis >= std::size(axes_of)) fail(ErrorCode::InvalidFile, "unknown reduce axis {}", axis);
  const Slot x = network.floats(layer, 0);
  if (mode == ReduceArgMax) {
    if (axes_of[axis].size() != 1) fail(ErrorCode::InvalidFile, "ARGMAX over several axes");
    Var* index = graph.add(
        "reduce_argmax",
        {{"x", {x.var}}, {"axis", {integer(axes_of[axis].front())}}, {"keep_dims", {flag(true)}}});
    return network.set(layer, index, x);
  }
  Var* operand = x.var;
  if (mode == ReduceLogSum) {
    const float stored = parameters.number({2, "epsilon"});
    operand =
        graph.add("log", {{"x", {operand}}, {"epsilon", {number(stored == 0 ? 1e-6F : stored)}}});
  }
  network.set(layer, reduced(graph, kOps[mode], operand, axes_of[axis], true), x);
}

struct ReductionOp {
  std::string_view layer, op;
  bool of_integers;
};
constexpr ReductionOp kReductionOps[] = {{"reduceL1", "reduce_l1_norm", false},
                                         {"reduceL2", "reduce_l2_norm", false},
                                         {"reduceMax", "reduce_max", true},
                                         {"reduceMin", "reduce_min", true},
                                         {"reduceSum", "reduce_sum", true},
                                         {"reduceProd", "reduce_prod", true},
                                         {"reduceMean", "reduce_mean", false},
                                         {"reduceLogSum", "reduce_log_sum", false},
                                         {"reduceSumSquare", "reduce_sum_square", false},
                                         {"reduceLogSumExp", "reduce_log_sum_exp", false}};

void translate_reduction(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const Fields& parameters = layer.parameters;
  for (const ReductionOp& known : kReductionOps) {
    if (known.layer != layer.type) continue;
    Var* x = network.any(layer, 0);
    if (!known.of_integers || graph.type(x) == DataType::Bool) {
      x = graph.cast(x, DataType::Float32);
    }
    std::vector<int64_t> axes = parameters.integers({1, "axes"});
    if (axes.empty() || parameters.flag({3, "reduceAll"})) {
      axes.resize(static_cast<size_t>(graph.rank(x)));
      std::iota(axes.begin(), axes.end(), 0);
    }
    return network.set(layer, 0,
                       reduced(graph, known.op, x, axes, parameters.flag({2, "keepDims"})));
  }
}

void translate_arg(Network& network, const Layer& layer, std::string_view op) {
  const bool remove = layer.parameters.flag({2, "removeDim"});
  network.set(layer, 0,
              network.graph.add(op, {{"x", {network.real(layer, 0)}},
                                     {"axis", {integer(layer.parameters.integer({1, "axis"}))}},
                                     {"keep_dims", {flag(!remove)}}}));
}
void translate_arg_max(Network& network, const Layer& layer) {
  translate_arg(network, layer, "reduce_argmax");
}
void translate_arg_min(Network& network, const Layer& layer) {
  translate_arg(network, layer, "reduce_argmin");
}

}  // namespace

std::span<const LayerKind> reduction_layers() {
  static constexpr LayerKind kKinds[] = {{280, "reduce", translate_reduce},
                                         {1020, "argMin", translate_arg_min},
                                         {1025, "argMax", translate_arg_max},
                                         {1250, "reduceL1", translate_reduction},
                                         {1255, "reduceL2", translate_reduction},
                                         {1260, "reduceMax", translate_reduction},
                                         {1265, "reduceMin", translate_reduction},
                                         {1270, "reduceSum", translate_reduction},
                                         {1275, "reduceProd", translate_reduction},
                                         {1280, "reduceMean", translate_reduction},
                                         {1285, "reduceLogSum", translate_reduction},
                                         {1290, "reduceSumSquare", translate_reduction},
                                         {1295, "reduceLogSumExp", translate_reduction}};
  return kKinds;
}

}  // namespace pippin::mil::networks
