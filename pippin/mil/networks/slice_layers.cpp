// Layers that take parts of a tensor.
#include <algorithm>
#include <limits>
#include <optional>

#include "pippin/base/error.h"
#include "pippin/mil/networks/known_values.h"
#include "pippin/mil/networks/layers.h"

namespace pippin::mil::networks {
namespace {

constexpr int64_t kLast = std::numeric_limits<int32_t>::max();

void translate_slice(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  const int64_t which = parameters.integer({4, "axis"});
  if (which < 0 || which > 2) fail(ErrorCode::InvalidFile, "unknown slice axis {}", which);
  const Slot x = network.slot(layer, 0);
  const int64_t begin = parameters.integer({1, "startIndex"}),
                end = parameters.integer({2, "endIndex"});
  const int64_t stride = std::max<int64_t>(1, parameters.integer({3, "stride"}));
  Graph& graph = network.graph;
  const auto rank = static_cast<size_t>(graph.rank(x.var));
  const size_t from_end = 3 - static_cast<size_t>(which);
  if (rank < from_end) {
    fail(ErrorCode::InvalidFile, "axis -{} of an input of rank {}", from_end, rank);
  }
  const size_t axis = rank - from_end;
  std::vector<int64_t> begins(rank, 0), ends(rank, 0), strides(rank, 1);
  std::vector<bool> masks(rank, true);
  begins[axis] = begin;
  ends[axis] = std::min(end, kLast);
  strides[axis] = stride;
  masks[axis] = false;
  network.set(layer,
              graph.add("slice_by_index", {{"x", {x.var}},
                                           {"begin", {integers(begins)}},
                                           {"end", {integers(ends)}},
                                           {"stride", {integers(strides)}},
                                           {"begin_mask", {Value::of_bools(masks)}},
                                           {"end_mask", {Value::of_bools(masks)}}}),
              x);
}

// Per axis; missing entries have their defaults.
struct Parts {
  std::vector<int64_t> strides;
  std::vector<bool> begin_masks, end_masks, squeeze_masks;
};

Parts read_parts(const Fields& parameters, size_t rank) {
  Parts parts{parameters.integers({5, "strides"}), parameters.flags({2, "beginMasks"}),
              parameters.flags({4, "endMasks"}), parameters.flags({6, "squeezeMasks"})};
  if (parts.strides.empty()) parts.strides.assign(rank, 1);
  for (auto* masks : {&parts.begin_masks, &parts.end_masks, &parts.squeeze_masks}) {
    if (masks->empty()) masks->assign(rank, false);
    // Converters write entries for axes that a tensor does not have.
    if (masks->size() > rank) masks->resize(rank);
  }
  if (parts.strides.size() > rank) parts.strides.resize(rank);
  return parts;
}

Var* cut(Graph& graph, Var* x, Argument begin, Argument end, Parts parts) {
  const auto rank = static_cast<size_t>(graph.rank(x));
  for (const size_t count : {parts.strides.size(), parts.begin_masks.size(), parts.end_masks.size(),
                             parts.squeeze_masks.size()}) {
    if (count == rank) continue;
    fail(ErrorCode::InvalidFile, "{} strides or masks for a tensor of rank {}", count, rank);
  }
  // Masks are ignored for an axis of which a single element is taken.
  for (size_t i = 0; i < rank; ++i) {
    if (!parts.squeeze_masks[i]) continue;
    parts.begin_masks[i] = false;
    parts.end_masks[i] = true;
    parts.strides[i] = 1;
  }
  return graph.add("slice_by_index", {{"x", {x}},
                                      {"begin", std::move(begin)},
                                      {"end", std::move(end)},
                                      {"stride", {integers(parts.strides)}},
                                      {"begin_mask", {Value::of_bools(parts.begin_masks)}},
                                      {"end_mask", {Value::of_bools(parts.end_masks)}},
                                      {"squeeze_mask", {Value::of_bools(parts.squeeze_masks)}}});
}

Value bounds(std::vector<int64_t> values, size_t rank) {
  if (values.size() > rank) values.resize(rank);
  for (int64_t& value : values) value = std::clamp<int64_t>(value, -kLast, kLast);
  return integers(values);
}

void translate_slice_static(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  Var* x = network.any(layer, 0);
  const auto rank = static_cast<size_t>(network.graph.rank(x));
  Parts parts = read_parts(parameters, rank);
  network.set(layer, 0,
              cut(network.graph, x, {bounds(parameters.integers({1, "beginIds"}), rank)},
                  {bounds(parameters.integers({3, "endIds"}), rank)}, std::move(parts)));
}

// Strides or masks that are known only when the program runs: element i of an axis is at
// begin + i * stride, with bounds as NumPy takes them.
class DynamicSlice {
 public:
  DynamicSlice(Network& network, const Layer& layer, Var* x, Argument begin, Argument end)
      : graph_(network.graph), x_(x), rank_(graph_.rank(x)) {
    shape_ = graph_.add("shape", {{"x", {x}}});
    begin_ = vector(std::move(begin));
    end_ = vector(std::move(end));
    const Parts parts = read_parts(layer.parameters, static_cast<size_t>(rank_));
    stride_ = layer.inputs.size() > 3 ? flattened(graph_, network.integral(layer, 3))
                                      : graph_.add_constant(integers(parts.strides));
    begin_mask_ = mask(network, layer, 4, parts.begin_masks);
    end_mask_ = mask(network, layer, 5, parts.end_masks);
  }

  // `squeezed` must be known, since it determines the rank.
  Var* taken(const std::vector<bool>& squeezed_axes) {
    std::vector<int64_t> gone;
    Var* result = x_;
    for (int64_t axis = 0; axis < rank_; ++axis) {
      const bool single = squeezed_axes[static_cast<size_t>(axis)];
      Var* places = single ? first_place(axis) : all_places(axis);
      if (single) gone.push_back(axis);
      result =
          graph_.add("gather", {{"x", {result}}, {"indices", {places}}, {"axis", {integer(axis)}}});
    }
    return squeezed(graph_, result, gone);
  }

 private:
  Var* vector(Argument argument) {
    if (Var** var = std::get_if<Var*>(&argument.front())) return *var;
    return graph_.add_constant(std::get<Value>(argument.front()));
  }
  Var* mask(Network& network, const Layer& layer, size_t input, const std::vector<bool>& stored) {
    if (layer.inputs.size() > input) return flattened(graph_, network.truth(layer, input));
    return graph_.add_constant(Value::of_bools(stored));
  }
  Var* element(Var* vector, int64_t axis) { return sliced(graph_, vector, 0, axis, axis + 1); }
  Var* select(Var* condition, Binding yes, Binding no) {
    return graph_.add("select", {{"cond", {condition}}, {"a", {yes}}, {"b", {no}}});
  }
  Var* compared(std::string_view op, Var* x, Binding y) {
    return binary(graph_, op, x, std::move(y));
  }
  // A bound counted from the end if it is negative.
  Var* from_start(Var* bound, Var* size) {
    return select(compared("less", bound, integers({0})), binary(graph_, "add", bound, size),
                  bound);
  }
  Var* first_place(int64_t axis) {
    return from_start(element(begin_, axis), element(shape_, axis));
  }
  Var* all_places(int64_t axis) {
    Var *size = element(shape_, axis), *stride = element(stride_, axis);
    Var* backwards = compared("less", stride, integers({0}));
    Var* last = binary(graph_, "sub", size, integers({1}));
    Var* lowest = select(backwards, integers({-1}), integers({0}));
    Var* highest = select(backwards, last, size);
    const auto limited = [&](Var* bound) {
      Var* place = from_start(bound, size);
      return binary(graph_, "minimum", binary(graph_, "maximum", place, lowest), highest);
    };
    Var* begin = select(element(begin_mask_, axis), select(backwards, last, integers({0})),
                        limited(element(begin_, axis)));
    Var* end = select(element(end_mask_, axis), select(backwards, integers({-1}), size),
                      limited(element(end_, axis)));
    return graph_.add("range_1d", {{"start", {scalar(graph_, begin)}},
                                   {"end", {scalar(graph_, end)}},
                                   {"step", {scalar(graph_, stride)}}});
  }

  Graph& graph_;
  Var* const x_;
  const int64_t rank_;
  Var *shape_, *begin_, *end_, *stride_, *begin_mask_, *end_mask_;
};

void translate_slice_dynamic(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  const Fields& parameters = layer.parameters;
  Var* x = network.any(layer, 0);
  const auto rank = static_cast<size_t>(graph.rank(x));
  Parts parts = read_parts(parameters, rank);
  const auto known = [&](size_t input) -> std::optional<std::vector<int64_t>> {
    return known_integers(graph, network.any(layer, input));
  };
  bool fixed = true;
  const auto take_mask = [&](size_t input, std::vector<bool>& masks) {
    if (layer.inputs.size() <= input) return true;
    const auto values = known(input);
    if (!values) return false;
    masks.assign(values->begin(), values->end());
    return true;
  };
  if (layer.inputs.size() > 3) {
    const auto strides = known(3);
    if (strides) parts.strides = *strides;
    fixed = strides.has_value();
  }
  fixed = take_mask(4, parts.begin_masks) && fixed;
  fixed = take_mask(5, parts.end_masks) && fixed;
  if (!take_mask(6, parts.squeeze_masks)) {
    fail(ErrorCode::Unsupported, "the axes to squeeze are not known until the network runs");
  }
  Argument begin = {flattened(graph, network.integral(layer, 1))};
  Argument end = layer.inputs.size() > 2
                     ? Argument{flattened(graph, network.integral(layer, 2))}
                     : Argument{bounds(parameters.integers({3, "endIds"}), rank)};
  if (fixed) {
    network.set(layer, 0, cut(graph, x, std::move(begin), std::move(end), std::move(parts)));
    return;
  }
  DynamicSlice slice(network, layer, x, std::move(begin), std::move(end));
  network.set(layer, 0, slice.taken(parts.squeeze_masks));
}

void translate_slice_by_size(Network& network, const Layer& layer) {
  Graph& graph = network.graph;
  Var* x = network.any(layer, 0);
  const auto rank = static_cast<size_t>(graph.rank(x));
  const auto axis =
      static_cast<size_t>(axis_of(layer.parameters.integer({3, "axis"}), graph.rank(x)));
  Argument begin(rank, Binding(integers({0})));
  begin[axis] = flattened(graph, network.integral(layer, 1));
  std::vector<int64_t> size(rank, -1);
  size[axis] = layer.parameters.integer({2, "size"});
  Argument start =
      rank == 1
          ? begin
          : Argument{graph.add("concat", {{"values", std::move(begin)}, {"axis", {integer(0)}}})};
  network.set(layer, 0,
              graph.add("slice_by_size",
                        {{"x", {x}}, {"begin", std::move(start)}, {"size", {integers(size)}}}));
}

void translate_sliding_windows(Network& network, const Layer& layer) {
  const Fields& parameters = layer.parameters;
  network.set(layer, 0,
              network.graph.add(
                  "sliding_windows",
                  {{"x", {network.any(layer, 0)}},
                   {"axis", {integer(parameters.integer({1, "axis"}))}},
                   {"size", {integer(parameters.integer({2, "windowSize"}))}},
                   {"stride", {integer(std::max<int64_t>(1, parameters.integer({3, "step"})))}}}));
}

}  // namespace

std::span<const LayerKind> slice_layers() {
  static constexpr LayerKind kKinds[] = {{350, "slice", translate_slice},
                                         {995, "sliceStatic", translate_slice_static},
                                         {1000, "sliceDynamic", translate_slice_dynamic},
                                         {1005, "slidingWindows", translate_sliding_windows},
                                         {1470, "sliceBySize", translate_slice_by_size}};
  return kKinds;
}

}  // namespace pippin::mil::networks
