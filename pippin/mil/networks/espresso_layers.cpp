#include "pippin/mil/networks/espresso_layers.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/mil/networks/borders.h"

namespace pippin::mil::networks {

int64_t EspressoLayer::number(std::string_view key, int64_t absent) const {
  if (!fields.has(key)) return absent;
  const Json value = fields.at(key);
  return value.is_bool() ? static_cast<int64_t>(value.as_bool()) : value.as_int();
}

float EspressoLayer::real(std::string_view key, float absent) const {
  return fields.has(key) ? static_cast<float>(fields.at(key).as_float()) : absent;
}

void EspressoLayer::require(std::string_view key, int64_t value) const {
  if (const int64_t found = number(key, value); found != value) {
    fail(ErrorCode::Unsupported, "{} {} is not supported", key, found);
  }
}

Slot espresso_input(Network& network, const EspressoLayer& layer, size_t index) {
  const auto value =
      index < layer.inputs.size() ? network.values.find(layer.inputs[index]) : network.values.end();
  if (value == network.values.end()) {
    fail(ErrorCode::InvalidFile, "no earlier layer produces input {}", index);
  }
  Slot slot = value->second;
  slot.var = network.graph.cast(slot.var, DataType::Float32);
  return slot;
}

Layer espresso_outputs(const EspressoLayer& layer) {
  Layer result;
  result.outputs = layer.outputs;
  return result;
}

namespace {

void set_output(Network& network, const EspressoLayer& layer, Var* var, const Slot& like) {
  network.set(espresso_outputs(layer), var, like);
}

Var* fused(Graph& graph, const EspressoLayer& layer, std::string_view prefix, Var* x) {
  if (layer.number(fmt::format("{}_relu", prefix)) != 0) x = unary(graph, "relu", x);
  if (layer.number(fmt::format("{}_tanh", prefix)) != 0) x = unary(graph, "tanh", x);
  return x;
}

Borders espresso_borders(const EspressoLayer& layer) {
  constexpr int64_t kGiven = 0, kSame = 1, kValid = 2;
  layer.require("pad_fill_mode", 0);
  Borders borders;
  const int64_t mode = layer.number("pad_mode");
  if (mode == kSame) {
    borders.type = "same";
  } else if (mode == kGiven) {
    for (const std::string_view side : {"pad_t", "pad_b", "pad_l", "pad_r"}) {
      borders.amounts.push_back(layer.number(side));
    }
  } else if (mode != kValid) {
    layer.require("pad_mode", kValid);
  }
  return borders;
}

void translate_espresso_convolution(Network& network, const EspressoLayer& layer) {
  for (const std::string_view key : {"has_batch_norm", "is_complex", "has_prelu"}) {
    layer.require(key, 0);
  }
  const int64_t outputs = layer.number("C"), inputs = layer.number("K"),
                groups = layer.number("n_groups", 1);
  const std::vector<int64_t> shape = {outputs, groups > 0 ? inputs / groups : 0, layer.number("Ny"),
                                      layer.number("Nx")};
  const std::string_view key =
      layer.fields.has("blob_weights_f16") ? "blob_weights_f16" : "blob_weights";
  if (!layer.fields.has(key)) {
    fail(ErrorCode::Unsupported, "weights that are neither fp32 nor fp16");
  }
  Graph& graph = network.graph;
  const Slot x = espresso_input(network, layer, 0);
  Var* weight = network.constant(layer.blobs.floats(layer.number(key), num_elements(shape)), shape);
  Graph::Arguments arguments = {
      {"x", {network.planes(x)}},
      {"weight", {weight}},
      {"strides", {integers({layer.number("stride_y", 1), layer.number("stride_x", 1)})}},
      {"dilations", {integers({layer.number("dilation_y", 1), layer.number("dilation_x", 1)})}},
      {"groups", {integer(groups)}}};
  add_borders(espresso_borders(layer), arguments);
  if (layer.number("has_biases") != 0) {
    arguments.push_back(
        {"bias",
         {network.constant(layer.blobs.floats(layer.number("blob_biases"), outputs), {outputs})}});
  }
  Var* result = fused(graph, layer, "fused", graph.add("conv", std::move(arguments)));
  network.set_planes(espresso_outputs(layer), result, x);
}

void translate_espresso_pool(Network& network, const EspressoLayer& layer) {
  constexpr std::string_view kPools[] = {"avg_pool", "max_pool", "l2_pool"};
  constexpr std::string_view kGlobal[] = {"reduce_mean", "reduce_max", "reduce_l2_norm"};
  const auto kind = static_cast<size_t>(layer.number("avg_or_max"));
  if (kind >= std::size(kPools)) layer.require("avg_or_max", 0);
  Graph& graph = network.graph;
  const Slot x = espresso_input(network, layer, 0);
  if (layer.number("is_global") != 0) {
    Var* result =
        graph.add(kGlobal[kind],
                  {{"x", {x.var}}, {"axes", {integers({-2, -1})}}, {"keep_dims", {flag(true)}}});
    return set_output(network, layer, result, x);
  }
  layer.require("top_shape_style", 0);
  Graph::Arguments arguments = {
      {"x", {network.planes(x)}},
      {"kernel_sizes", {integers({layer.number("size_y"), layer.number("size_x")})}},
      {"strides", {integers({layer.number("stride_y", 1), layer.number("stride_x", 1)})}}};
  add_borders(espresso_borders(layer), arguments);
  if (kind == 0) {
    arguments.push_back({"exclude_padding_from_average",
                         {flag(layer.number("average_count_exclude_padding") != 0)}});
  }
  network.set_planes(espresso_outputs(layer), graph.add(kPools[kind], std::move(arguments)), x);
}

void translate_espresso_inner_product(Network& network, const EspressoLayer& layer) {
  layer.require("has_prelu", 0);
  const int64_t outputs = layer.number("nC"), inputs = layer.number("nB");
  const std::string_view key =
      layer.fields.has("blob_weights_f16") ? "blob_weights_f16" : "blob_weights";
  if (!layer.fields.has(key)) {
    fail(ErrorCode::Unsupported, "weights that are neither fp32 nor fp16");
  }
  Graph& graph = network.graph;
  const Slot slot = espresso_input(network, layer, 0);
  const bool planes = graph.rank(slot.var) >= 4;
  if (graph.rank(slot.var) > 4) fail(ErrorCode::Unsupported, "an input of rank 5");
  Var* x = planes ? reshaped(graph, slot.var, std::vector<int64_t>{-1, inputs}) : slot.var;
  const std::vector<int64_t> shape = {outputs, inputs};
  Graph::Arguments arguments = {
      {"x", {x}},
      {"weight",
       {network.constant(layer.blobs.floats(layer.number(key), num_elements(shape)), shape)}}};
  if (layer.number("has_biases") != 0) {
    arguments.push_back(
        {"bias",
         {network.constant(layer.blobs.floats(layer.number("blob_biases"), outputs), {outputs})}});
  }
  Var* result = fused(graph, layer, "has", graph.add("linear", std::move(arguments)));
  if (planes) result = expanded(graph, result, {2, 3});
  set_output(network, layer, result, slot);
}

// The blob has scale, offset, mean and variance of each channel, one channel after another.
void translate_espresso_batchnorm(Network& network, const EspressoLayer& layer) {
  constexpr std::string_view kNames[] = {"gamma", "beta", "mean", "variance"};
  const int64_t channels = layer.number("C");
  const std::vector<float> values =
      read_floats(*layer.blobs.floats(layer.number("blob_batchnorm_params"), channels * 4));
  const bool training = layer.number("training") != 0;
  if (training) layer.require("training_instancenorm", 1);
  const Slot x = espresso_input(network, layer, 0);
  Graph::Arguments arguments = {{"x", {network.planes(x)}},
                                {"epsilon", {number(layer.real("training_eps", 1e-5F))}}};
  for (size_t i = 0; i < (training ? 2U : 4U); ++i) {
    std::vector<float> part;
    for (size_t at = i; at < values.size(); at += 4) part.push_back(values[at]);
    arguments.push_back({kNames[i], {network.literal(part, {channels})}});
  }
  const std::string_view op = training ? "instance_norm" : "batch_norm";
  network.set_planes(espresso_outputs(layer), network.graph.add(op, std::move(arguments)), x);
}

void translate_espresso_activation(Network& network, const EspressoLayer& layer) {
  Graph& graph = network.graph;
  const Slot x = espresso_input(network, layer, 0);
  const float alpha = layer.real("alpha"), beta = layer.real("beta");
  const auto with = [&](std::string_view op, bool both) {
    Graph::Arguments arguments = {{"x", {x.var}}, {"alpha", {number(alpha)}}};
    if (both) arguments.push_back({"beta", {number(beta)}});
    return graph.add(op, std::move(arguments));
  };
  const auto gelu = [&](std::string mode) {
    return graph.add("gelu", {{"x", {x.var}}, {"mode", {text(std::move(mode))}}});
  };
  Var* result = nullptr;
  const int64_t mode = layer.number("mode");
  switch (mode) {
    case 0:
      result = unary(graph, "relu", x.var);
      break;
    case 1:
      result = unary(graph, "tanh", x.var);
      break;
    case 3:
      result = unary(graph, "sigmoid", x.var);
      break;
    case 5:
      result = with("scaled_tanh", true);
      break;
    case 6:
      result = with("linear_activation", true);
      break;
    case 7:
      result = with("sigmoid_hard", true);
      break;
    case 8:
      result = with("elu", false);
      break;
    case 9:
      result = with("thresholded_relu", false);
      break;
    case 10:
      result = unary(graph, "softplus", x.var);
      break;
    case 12:
      result = unary(graph, "softsign", x.var);
      break;
    case 19:
      result = gelu("EXACT");
      break;
    case 21:
      result = gelu("TANH_APPROXIMATION");
      break;
    case 22:
      result = gelu("SIGMOID_APPROXIMATION");
      break;
    default:
      fail(ErrorCode::Unsupported, "mode {} is not supported", mode);
  }
  set_output(network, layer, result, x);
}

struct EspressoKind {
  std::string_view type;
  void (*translate)(Network& network, const EspressoLayer& layer);
};
constexpr EspressoKind kEspressoKinds[] = {{"convolution", translate_espresso_convolution},
                                           {"pool", translate_espresso_pool},
                                           {"inner_product", translate_espresso_inner_product},
                                           {"batchnorm", translate_espresso_batchnorm},
                                           {"activation", translate_espresso_activation}};

}  // namespace

void translate_espresso_layer(Network& network, const EspressoLayer& layer) {
  const std::string type(layer.fields.get_string("type"));
  for (const EspressoKind& kind : kEspressoKinds) {
    if (kind.type == type) return kind.translate(network, layer);
  }
  if (translate_espresso_tensor_layer(network, layer, type)) return;
  fail(ErrorCode::Unsupported, "layers of the type '{}' are not supported", type);
}

}  // namespace pippin::mil::networks
