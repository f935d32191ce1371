#include "pippin/mil/networks/layer_list.h"

#include "pippin/base/error.h"
#include "pippin/base/text.h"

namespace pippin::mil::networks {
namespace {

constexpr Field kLayers{1, "layers"};
constexpr uint32_t kFirstLayerField = 100;

std::string checked_name(std::string name) {
  if (!is_valid_utf8(name)) fail(ErrorCode::InvalidFile, "a layer's name is not UTF-8");
  return name;
}

std::vector<std::string> names(const Fields& message, const Field& field) {
  std::vector<std::string> result;
  for (std::string& name : message.texts(field)) {
    if (!name.empty()) result.push_back(checked_name(std::move(name)));
  }
  return result;
}

ListedLayer read_layer(const Fields& message) {
  ListedLayer listed;
  listed.field = 0;
  Layer& layer = listed.layer;
  layer.name = checked_name(message.text({1, "name"}));
  layer.inputs = names(message, {2, "input"});
  layer.outputs = names(message, {3, "output"});
  for (const uint32_t field : message.field_numbers()) {
    if (field >= kFirstLayerField) listed.field = field;
  }
  return with_context(fmt::format("layer '{}'", layer.name), [&] {
    if (listed.field == 0) fail(ErrorCode::InvalidFile, "a layer without a type");
    layer.parameters = message.message({listed.field, "layer"});
    if (listed.field == kCustomField) {
      fail(ErrorCode::Unsupported,
           "custom layers are not supported (class '{}', which only its app has)",
           checked_name(layer.parameters.text({10, "className"})));
    }
    const LayerKind* kind = find_layer_kind(listed.field);
    if (kind == nullptr) {
      fail(ErrorCode::Unsupported, "a layer of an unknown type (field {})", listed.field);
    }
    layer.type = kind->name;
    return std::move(listed);
  });
}

}  // namespace

std::vector<ListedLayer> read_layers(const Fields& network) {
  std::vector<ListedLayer> layers;
  for (const Fields& message : network.messages(kLayers)) layers.push_back(read_layer(message));
  return layers;
}

std::vector<Fields> nested_networks(const ListedLayer& listed) {
  const Fields& parameters = listed.layer.parameters;
  if (listed.field == kBranchField) {
    return {parameters.message({1, "ifBranch"}), parameters.message({2, "elseBranch"})};
  }
  if (listed.field == kLoopField) {
    return {parameters.message({3, "conditionNetwork"}), parameters.message({4, "bodyNetwork"})};
  }
  return {};
}

void for_each_layer(const Fields& network, const std::function<void(const ListedLayer&)>& visit,
                    int depth) {
  if (depth > kMaxNesting) {
    fail(ErrorCode::LimitExceeded, "networks nest deeper than {}", kMaxNesting);
  }
  for (const ListedLayer& listed : read_layers(network)) {
    visit(listed);
    for (const Fields& nested : nested_networks(listed)) for_each_layer(nested, visit, depth + 1);
  }
}

void count_reads(const Fields& network, std::map<std::string, int, std::less<>>& reads) {
  for_each_layer(network, [&](const ListedLayer& listed) {
    for (const std::string& input : listed.layer.inputs) ++reads[input];
    if (listed.field != kLoopField) return;
    ++reads[listed.layer.parameters.text({2, "conditionVar"})];
  });
}

std::set<std::string> defined_names(const Fields& network) {
  std::set<std::string> defined;
  for_each_layer(network, [&](const ListedLayer& listed) {
    defined.insert(listed.layer.outputs.begin(), listed.layer.outputs.end());
  });
  return defined;
}

bool leaves_loop(const Fields& network, uint32_t field, int depth) {
  if (depth > kMaxNesting) {
    fail(ErrorCode::LimitExceeded, "networks nest deeper than {}", kMaxNesting);
  }
  for (const ListedLayer& listed : read_layers(network)) {
    if (listed.field == field) return true;
    if (listed.field != kBranchField) continue;
    for (const Fields& nested : nested_networks(listed)) {
      if (leaves_loop(nested, field, depth + 1)) return true;
    }
  }
  return false;
}

}  // namespace pippin::mil::networks
