#include "pippin/mil/networks/espresso.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/mil/networks/espresso_layers.h"
#include "pippin/mil/networks/interface.h"

namespace pippin::mil::networks {
namespace {

std::vector<std::string> listed_names(const Json& layer, std::string_view key) {
  std::vector<std::string> names;
  if (!layer.has(key)) return names;
  std::string_view text = layer.at(key).as_string();
  while (!text.empty()) {
    const size_t comma = text.find(',');
    if (comma != 0) names.emplace_back(text.substr(0, comma));
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
  }
  return names;
}

std::set<std::string> reserved_names(const FunctionDescription& description) {
  std::set<std::string> names;
  for (const Feature& input : description.inputs) names.insert(input.name);
  for (const Feature& output : description.outputs) names.insert(output.name);
  return names;
}

// Since version 4 of the specification, the file of shapes gives each tensor's rank.
bool has_ranks(const Json& shapes) {
  for (const auto& [name, shape] : shapes.at("layer_shapes").members()) {
    if (shape.has("_rank")) return true;
  }
  return false;
}

void check_features(const FunctionDescription& description) {
  for (const auto* features : {&description.inputs, &description.outputs}) {
    for (const Feature& feature : *features) {
      if (feature.kind == Feature::Kind::MultiArray) continue;
      fail(ErrorCode::Unsupported,
           "'{}': compiled networks with {} are not supported; the .mlmodel is", feature.name,
           feature.kind == Feature::Kind::Image ? "pictures" : "class labels");
    }
  }
}

}  // namespace

Program translate_espresso(const Json& net, const Json& shapes, ByteSpan weights,
                           FunctionDescription& description, const Owner& owner) {
  check_features(description);
  Program program;
  auto& function =
      program.functions.emplace(description.name, std::make_unique<Function>()).first->second;
  Graph graph(*function, Opset::CoreML6, reserved_names(description));
  const bool rank5 = !has_ranks(shapes);
  Network network(graph, rank5, rank5, owner);
  define_inputs(network, description.inputs, false);
  const EspressoBlobs blobs(weights, owner);
  for (const Json& layer : net.at("layers").elements()) {
    const EspressoLayer one{layer, listed_names(layer, "bottom"), listed_names(layer, "top"),
                            blobs};
    with_context(fmt::format("layer '{}' ({})", layer.get_string("name"), layer.get_string("type")),
                 [&] { translate_espresso_layer(network, one); });
  }
  std::vector<Var*> outputs;
  outputs.reserve(description.outputs.size());
  for (Feature& feature : description.outputs) {
    outputs.push_back(with_context(fmt::format("output '{}'", feature.name),
                                   [&] { return make_output(network, feature); }));
  }
  function->block().outputs() = std::move(outputs);
  return program;
}

}  // namespace pippin::mil::networks
