#include "pippin/mil/networks/espresso_layer.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/mil/networks/network.h"

namespace pippin::mil::networks {
namespace {

// Names with commas between them.
std::vector<std::string> listed_names(const Json& layer, std::string_view key) {
  std::vector<std::string> names;
  if (!layer.has(key)) return names;
  std::string_view text = layer.at(key).as_string();
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    if (comma > 0) names.emplace_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return names;
}

// "begin_*" stands for all names that begin so.
bool is_listed(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const size_t space = std::min(names.find(' '), names.size());
    const std::string_view one = names.substr(0, space);
    const bool prefix = one.ends_with('*');
    if (prefix ? name.starts_with(one.substr(0, one.size() - 1)) : name == one) return true;
    names.remove_prefix(std::min(space + 1, names.size()));
  }
  return false;
}

// Zeros and empty values leave a layer as it is.
bool is_nothing(const Json& value) {
  if (value.is_null()) return true;
  if (value.is_bool()) return !value.as_bool();
  if (value.is_number()) return value.as_float() == 0;
  if (value.is_string()) return value.as_string().empty();
  return value.size() == 0;
}

// Notes for people and for the choice of hardware.
constexpr std::string_view kOfAllLayers = "type name bottom top debug_info weights attributes";

}  // namespace

EspressoLayer::EspressoLayer(const Json& fields)
    : name(fields.get_string_or("name", "")),
      type(fields.get_string("type")),
      inputs(listed_names(fields, "bottom")),
      outputs(listed_names(fields, "top")),
      fields(fields) {}

int64_t EspressoLayer::number(std::string_view key) const {
  const Json value = fields.at(key);
  return value.is_bool() ? static_cast<int64_t>(value.as_bool()) : value.as_int();
}

int64_t EspressoLayer::number(std::string_view key, int64_t absent) const {
  return has(key) ? number(key) : absent;
}

float EspressoLayer::real(std::string_view key) const {
  return static_cast<float>(fields.at(key).as_float());
}

float EspressoLayer::real(std::string_view key, float absent) const {
  return has(key) ? real(key) : absent;
}

void EspressoLayer::require(std::string_view key, int64_t value) const {
  if (const int64_t found = number(key, value); found != value) {
    fail(ErrorCode::Unsupported, "{} {} is not supported", key, found);
  }
}

void EspressoLayer::require_real(std::string_view key, float value) const {
  if (const float found = real(key, value); found != value) {
    fail(ErrorCode::Unsupported, "{} {} is not supported", key, found);
  }
}

void EspressoLayer::require_known(std::string_view names) const {
  for (const auto& [key, value] : fields.members()) {
    if (is_listed(kOfAllLayers, key) || is_listed(names, key) || key.starts_with("hint_")) continue;
    if (!is_nothing(value)) fail(ErrorCode::Unsupported, "the property '{}' is not supported", key);
  }
  if (const auto attributes = fields.find("attributes")) {
    for (const auto& [key, value] : attributes->members()) {
      if (key == "is_output" || is_nothing(value)) continue;
      fail(ErrorCode::Unsupported, "the attribute '{}' is not supported", key);
    }
  }
}

void EspressoLayer::require_inputs(size_t count) const {
  if (inputs.size() == count) return;
  fail(ErrorCode::InvalidFile, "{} inputs, not {}", inputs.size(), count);
}

EspressoNetwork::EspressoNetwork(const Json& shapes, const EspressoBlobs& blobs) : blobs(blobs) {
  // Since version 4 of the specification, the file of shapes gives each tensor's rank.
  const auto listed = shapes.at("layer_shapes").members();
  has_ranks_ = std::any_of(listed.begin(), listed.end(),
                           [](const auto& one) { return one.second.has("_rank"); });
  for (const auto& [name, shape] : listed) {
    constexpr int64_t kMostAxes = std::size(kSizeNames);
    const int64_t rank =
        shape.has("_rank") ? shape.get_int_between("_rank", 0, kMostAxes) : kMostAxes;
    std::vector<int64_t> sizes;
    sizes.reserve(static_cast<size_t>(rank));
    for (int64_t axis = rank - 1; axis >= 0; --axis) {
      const std::string_view size = kSizeNames[axis];
      sizes.push_back(shape.has(size) ? shape.get_int_between(size, 0, INT32_MAX) : 1);
    }
    parts.shapes.insert_or_assign(std::string(name), std::move(sizes));
  }
}

const std::vector<int64_t>& EspressoNetwork::sizes(const std::string& name) const {
  const auto found = parts.shapes.find(name);
  if (found == parts.shapes.end()) {
    fail(ErrorCode::InvalidFile, "model.espresso.shape has no '{}'", name);
  }
  return found->second;
}

size_t EspressoNetwork::rank(const std::string& name) const {
  return sizes(name).size();
}

Message EspressoNetwork::weights(std::shared_ptr<const TensorSource> source) {
  parts.weights.push_back(std::move(source));
  return Message().integer(kGivenWeights.number, std::ssize(parts.weights) - 1);
}

void EspressoNetwork::add(const EspressoLayer& layer, uint32_t field, const Message& parameters) {
  const auto add_one = [&](const std::vector<std::string>& inputs, uint32_t type,
                           const Message& body) {
    Message one;
    one.content(1, layer.name);
    for (const std::string& input : inputs) one.content(2, input);
    for (const std::string& output : layer.outputs) one.content(3, output);
    message.message(1, one.message(type, body));
  };
  add_one(layer.inputs, field, parameters);
  constexpr uint32_t kActivation = 130, kRelu = 10, kTanh = 30;
  for (const std::string_view key : {"fused_relu", "has_relu"}) {
    if (layer.flag(key)) add_one(layer.outputs, kActivation, Message().content(kRelu, ""));
  }
  for (const std::string_view key : {"fused_tanh", "has_tanh"}) {
    if (layer.flag(key)) add_one(layer.outputs, kActivation, Message().content(kTanh, ""));
  }
}

}  // namespace pippin::mil::networks
