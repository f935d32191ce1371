// Layers along an axis: sorting, one-hot vectors, running sums, reversed axes.
#include "pippin/base/error.h"
#include "pippin/mil/networks/known_values.h"
#include "pippin/mil/networks/layers.h"

namespace pippin::mil::networks {
namespace {

int64_t axis_parameter(const Layer& layer, const Graph& graph, const Var* x) {
  return axis_of(layer.parameters.integer({1, "axis"}), graph.rank(x));
}

// The first sorted elements, whose number is known only at run time.
void set_top_of_run(Network& network, const Layer& layer, Var* x, int64_t axis, bool ascending) {
  Graph& graph = network.graph;
  Var* order = graph.add("argsort",
                         {{"x", {x}}, {"axis", {integer(axis)}}, {"ascending", {flag(ascending)}}});
  const auto rank = static_cast<size_t>(graph.rank(x));
  Argument sizes;
  sizes.reserve(rank);
  for (size_t i = 0; i < rank; ++i) {
    if (static_cast<int64_t>(i) == axis) {
      sizes.emplace_back(flattened(graph, network.integral(layer, 1)));
    } else {
      sizes.emplace_back(integers({-1}));
    }
  }
  Var* size = graph.add("concat", {{"values", std::move(sizes)}, {"axis", {integer(0)}}});
  Var* indices = graph.add(
      "slice_by_size",
      {{"x", {order}}, {"begin", {integers(std::vector<int64_t>(rank, 0))}}, {"size", {size}}});
  network.set(layer, 0,
              graph.add("gather_along_axis",
                        {{"x", {x}}, {"indices", {indices}}, {"axis", {integer(axis)}}}));
  network.set(layer, 1, indices);
}

void translate_top_k(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  Var* x = network.real(layer, 0);
  const int64_t axis = axis_parameter(layer, graph, x);
  const bool ascending = layer.parameters.flag({3, "useBottomK"});
  int64_t k = layer.parameters.integer({2, "K"});
  if (layer.inputs.size() > 1) {
    const auto known = known_integers(graph, network.any(layer, 1));
    if (!known || known->size() != 1) {
      return set_top_of_run(network, layer, x, axis, ascending);
    }
    k = known->front();
  }
  const std::vector<Var*> results = graph.add_many("topk", {{"x", {x}},
                                                            {"k", {integer(k)}},
                                                            {"axis", {integer(axis)}},
                                                            {"ascending", {flag(ascending)}}});
  for (size_t i = 0; i < results.size(); ++i) network.set(layer, i, results[i]);
}

void translate_arg_sort(Network& network, const Layer& layer) {
  Var* x = network.real(layer, 0);
  network.set(layer, 0,
              network.graph.add(
                  "argsort", {{"x", {x}},
                              {"axis", {integer(axis_parameter(layer, network.graph, x))}},
                              {"ascending", {flag(!layer.parameters.flag({2, "descending"}))}}}));
}

void translate_one_hot(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  Graph& graph = network.graph;
  Var* indices = network.integral(layer, 0);
  Argument size = {integer(parameters.integer({1, "oneHotVectorSize"}))};
  if (layer.inputs.size() > 1) size = {scalar(graph, network.integral(layer, 1))};
  const int64_t axis = axis_of(parameters.integer({2, "axis"}), graph.rank(indices) + 1);
  network.set(layer, 0,
              graph.add("one_hot", {{"indices", {indices}},
                                    {"one_hot_vector_size", std::move(size)},
                                    {"axis", {integer(axis)}},
                                    {"on_value", {number(parameters.number({3, "onValue"}))}},
                                    {"off_value", {number(parameters.number({4, "offValue"}))}}}));
}

Var* running_sum(Graph& graph, const Layer& layer, Var* x, int64_t axis) {
  return graph.add("cumsum", {{"x", {x}},
                              {"axis", {integer(axis)}},
                              {"exclusive", {flag(layer.parameters.flag({2, "excludeFinalSum"}))}},
                              {"reverse", {flag(layer.parameters.flag({3, "reverse"}))}}});
}

void translate_cum_sum(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  Var* x = network.real(layer, 0);
  const int64_t rank = graph.rank(x);
  if (layer.inputs.size() < 2) {
    return network.set(layer, 0, running_sum(graph, layer, x, axis_parameter(layer, graph, x)));
  }
  Var* axis = network.integral(layer, 1);
  const auto known = known_integers(graph, axis);
  if (known && known->size() == 1) {
    return network.set(layer, 0, running_sum(graph, layer, x, axis_of(known->front(), rank)));
  }
  // An axis known only at run time: computes the sums along every axis, and selects one.
  Var* wanted = scalar(graph, axis);
  Var* from_end = binary(graph, "add", wanted, integer(rank));
  Var* result = running_sum(graph, layer, x, rank - 1);
  for (int64_t i = 0; i + 1 < rank; ++i) {
    Var* chosen = binary(graph, "logical_or", binary(graph, "equal", wanted, integer(i)),
                         binary(graph, "equal", from_end, integer(i)));
    result = graph.add(
        "select", {{"cond", {chosen}}, {"a", {running_sum(graph, layer, x, i)}}, {"b", {result}}});
  }
  network.set(layer, 0, result);
}

void translate_reverse(Network& network, const Layer& layer) {
  Var* x = network.any(layer, 0);
  const std::vector<bool> reversed = layer.parameters.flags({1, "reverseDim"});
  if (std::ssize(reversed) != network.graph.rank(x)) {
    fail(ErrorCode::InvalidFile, "{} entries of reverseDim for rank {}", reversed.size(),
         network.graph.rank(x));
  }
  std::vector<int64_t> axes;
  for (size_t i = 0; i < reversed.size(); ++i) {
    if (reversed[i]) axes.push_back(static_cast<int64_t>(i));
  }
  if (!axes.empty()) x = network.graph.add("reverse", {{"x", {x}}, {"axes", {integers(axes)}}});
  network.set(layer, 0, x);
}

void translate_reverse_sequence(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  Graph& graph = network.graph;
  Var* lengths = flattened(graph, network.integral(layer, 1));
  network.set(layer, 0,
              graph.add("reverse_sequence",
                        {{"x", {network.any(layer, 0)}},
                         {"lengths", {lengths}},
                         {"seq_axis", {integer(parameters.integer({2, "sequenceAxis"}))}},
                         {"batch_axis", {integer(parameters.integer({1, "batchAxis"}))}}}));
}

}  // namespace

std::span<const LayerKind> order_layers() {
  static constexpr LayerKind kKinds[] = {
      {960, "reverse", translate_reverse}, {965, "reverseSeq", translate_reverse_sequence},
      {1015, "topK", translate_top_k},     {1450, "oneHot", translate_one_hot},
      {1455, "cumSum", translate_cum_sum}, {1461, "argSort", translate_arg_sort}};
  return kKinds;
}

}  // namespace pippin::mil::networks
