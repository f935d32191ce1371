#include "pippin/mil/networks/translate.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/mil/networks/class_labels.h"
#include "pippin/mil/networks/control_flow.h"
#include "pippin/mil/networks/interface.h"
#include "pippin/mil/networks/simplify.h"

namespace pippin::mil::networks {
namespace {

constexpr Field kPreprocessing{2, "preprocessing"}, kArrayMapping{5, "arrayInputShapeMapping"},
    kImageMapping{6, "imageInputShapeMapping"};
// Bodies of loops are translated several times.
constexpr int64_t kAttemptsPerLayer = 200, kMinBudget = 10'000;

// Layers that operate along the sequence axis, or on lists of words or boxes.
bool is_sequence_layer(const ListedLayer& listed) {
  constexpr std::string_view kTypes[] = {"simpleRecurrent",   "gru",       "uniDirectionalLSTM",
                                         "biDirectionalLSTM", "embedding", "cropResize",
                                         "sequenceRepeat"};
  if (std::find(std::begin(kTypes), std::end(kTypes), listed.layer.type) != std::end(kTypes)) {
    return true;
  }
  return listed.layer.type == "concat" && listed.layer.parameters.flag({100, "sequenceConcat"});
}

std::set<std::string> feature_names(const FunctionDescription& description) {
  std::set<std::string> names;
  for (const Feature& input : description.inputs) names.insert(input.name);
  for (const Feature& output : description.outputs) names.insert(output.name);
  return names;
}

void require_distinct(const std::vector<Feature>& features, std::string_view what) {
  std::set<std::string_view> names;
  for (const Feature& feature : features) {
    if (names.insert(feature.name).second) continue;
    fail(ErrorCode::InvalidFile, "two {}s are named '{}'", what, feature.name);
  }
}

// Sizes of 1 tell nothing if the ranks differ.
bool matches(Shape found, std::vector<int64_t> wanted) {
  if (found.size() != wanted.size()) {
    std::erase(wanted, 1);
    std::erase_if(found, [](const Dim& dim) { return dim == Dim(1); });
  }
  return std::equal(found.begin(), found.end(), wanted.begin(), wanted.end(),
                    [](const Dim& dim, int64_t size) { return dim == Dim(size); });
}

void check_shapes(const Network& network, const decltype(NetworkParts::shapes)& shapes) {
  for (const auto& [name, wanted] : shapes) {
    const auto value = network.values.find(name);
    if (value == network.values.end()) continue;
    Shape found = network.graph.shape(value->second.var);
    if (value->second.led) found.insert(found.begin(), Dim(1));
    // The file lists the sizes for the default ones of inputs.
    const bool fixed =
        std::all_of(found.begin(), found.end(), [](const Dim& dim) { return dim.is_constant(); });
    if (!fixed || matches(found, wanted)) continue;
    fail(ErrorCode::InvalidFile, "'{}' has the shape {} by its layer, [{}] by the file of shapes",
         name, to_string(found), fmt::join(wanted, ", "));
  }
}

// Sets the opset to the one that would be better, which may be the same.
Program translate(const Fields& fields, NetworkKind kind, FunctionDescription& description,
                  const Owner& owner, const NetworkParts& parts, Opset& opset) {
  require_distinct(description.inputs, "input");
  require_distinct(description.outputs, "output");
  Program program;
  auto& function =
      program.functions.emplace(description.name, std::make_unique<Function>()).first->second;
  Graph graph(*function, opset, feature_names(description));
  const auto is_image = [](const Feature& feature) { return feature.kind == Feature::Kind::Image; };
  Network network(graph, fields.integer(kArrayMapping) == 0, fields.integer(kImageMapping) == 0,
                  owner);
  network.given_weights = parts.weights;
  network.has_images = std::any_of(description.inputs.begin(), description.inputs.end(), is_image);

  int64_t count = 0;
  bool sequences = false;
  for_each_layer(fields, [&](const ListedLayer& listed) {
    ++count;
    sequences = sequences || is_sequence_layer(listed);
  });
  network.budget = kMinBudget + kAttemptsPerLayer * count;
  count_reads(fields, network.reads);
  for (const Feature& output : description.outputs) ++network.reads[output.name];

  define_inputs(network, description.inputs, sequences);
  preprocess(network, fields.messages(kPreprocessing), description.inputs);
  const std::vector<ListedLayer> layers = read_layers(fields);
  translate_layers(network, layers);
  check_shapes(network, parts.shapes);

  std::vector<Var*> outputs;
  outputs.reserve(description.outputs.size());
  const ClassLabels labels(fields, kind == NetworkKind::Classifier, description, layers);
  for (Feature& feature : description.outputs) {
    if (labels.produces(feature)) continue;
    outputs.push_back(with_context(fmt::format("output '{}'", feature.name),
                                   [&] { return make_output(network, feature); }));
  }
  labels.add_outputs(network, outputs);
  function->block().outputs() = std::move(outputs);
  simplify(*function, graph);
  opset = graph.wanted();
  return program;
}

}  // namespace

Program translate_network(ByteSpan message, NetworkKind kind, FunctionDescription& description,
                          const Owner& owner, const NetworkParts& parts) {
  const Fields fields(message);
  const FunctionDescription read = description;
  Opset opset = Opset::CoreML6;
  Program program = translate(fields, kind, description, owner, parts, opset);
  if (opset == Opset::CoreML6) return program;
  description = read;
  return translate(fields, kind, description, owner, parts, opset);
}

}  // namespace pippin::mil::networks
