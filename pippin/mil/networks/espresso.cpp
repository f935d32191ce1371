#include "pippin/mil/networks/espresso.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/mil/networks/espresso_interface.h"
#include "pippin/mil/networks/espresso_layer.h"

namespace pippin::mil::networks {
namespace {

constexpr size_t kRank5 = 5;

const EspressoKind* find_kind(std::string_view type) {
  for (const auto family : {espresso_image_layers(), espresso_value_layers(),
                            espresso_shape_layers(), espresso_weight_layers()}) {
    for (const EspressoKind& kind : family) {
      if (kind.type == type) return &kind;
    }
  }
  return nullptr;
}

void add_layer(EspressoNetwork& network, const EspressoLayer& layer) {
  const EspressoKind* kind = find_kind(layer.type);
  if (kind == nullptr) {
    fail(ErrorCode::Unsupported, "layers of this type are not supported in compiled networks");
  }
  layer.require_known(kind->fields);
  kind->translate(network, layer);
}

// Whether an input has five axes, although the model declares fewer.
bool has_five_axes(const EspressoNetwork& network, const Feature& input) {
  const auto sizes = network.parts.shapes.find(input.name);
  if (sizes == network.parts.shapes.end() || sizes->second.size() != kRank5) return false;
  return input.kind == Feature::Kind::Image || input.shape.size() != kRank5;
}

void add_mappings(EspressoNetwork& network, const std::vector<Feature>& inputs) {
  constexpr uint32_t kArrayMapping = 5, kImageMapping = 6;
  constexpr int64_t kFiveAxes = 0, kExact = 1;
  const auto mapping = [&](bool images) {
    const auto has_five = [&](const Feature& input) {
      return (input.kind == Feature::Kind::Image) == images && has_five_axes(network, input);
    };
    const bool five = !network.has_ranks() || std::any_of(inputs.begin(), inputs.end(), has_five);
    return five ? kFiveAxes : kExact;
  };
  network.message.integer(kArrayMapping, mapping(false)).integer(kImageMapping, mapping(true));
}

// The bytes that the weights of a program refer to.
struct KeptBytes {
  std::string message;
  Owner files;
};

}  // namespace

Program translate_espresso(const EspressoFiles& files, NetworkKind kind,
                           FunctionDescription& description, const Owner& owner) {
  const EspressoBlobs blobs(files.weights, owner);
  EspressoNetwork network(files.shapes, blobs);
  for (const Json& fields : files.net.at("layers").elements()) {
    check_cancel();
    const EspressoLayer layer(fields);
    with_context(fmt::format("layer '{}' ({})", layer.name, layer.type),
                 [&] { add_layer(network, layer); });
  }
  add_mappings(network, description.inputs);
  add_transforms(files.net, description.inputs, network.message);
  if (kind == NetworkKind::Classifier) add_labels(files.labels, network.message);
  const auto kept = std::make_shared<KeptBytes>(KeptBytes{network.message.bytes(), owner});
  return translate_network(as_byte_span(kept->message), kind, description, kept, network.parts);
}

}  // namespace pippin::mil::networks
