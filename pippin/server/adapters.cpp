#include "pippin/server/adapters.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "pippin/server/api_error.h"
#include "pippin/server/request_json.h"

namespace pippin::server {
namespace {

constexpr const char* kField = "lora";

WantedAdapter read_item(const Json& item) {
  WantedAdapter wanted;
  if (item.is_string()) {
    wanted.name = item.as_string();
    return wanted;
  }
  if (!item.is_object()) {
    item.invalid(R"(expected a name, or an object {"id": 0, "scale": 1} or {"name": "x"})");
  }
  for (const auto& [key, value] : item.members()) {
    if (key == "id") {
      wanted.id = value.as_int(0, std::numeric_limits<int32_t>::max());
    } else if (key == "name") {
      wanted.name = value.as_string();
    } else if (key == "scale") {
      wanted.scale = value.as_float();
    } else {
      item.invalid(fmt::format("\"{}\" is not a member: id, name and scale are", key));
    }
  }
  if (wanted.id.has_value() == !wanted.name.empty()) item.invalid("needs either an id or a name");
  return wanted;
}

// "a, b"
std::string names_of(const runtime::Model& model) {
  std::string names;
  for (const runtime::RunAdapter& adapter : model.adapters()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", adapter.name);
  }
  return names.empty() ? "none" : names;
}

size_t find_adapter(const runtime::Model& model, const WantedAdapter& wanted) {
  const auto& adapters = model.adapters();
  const auto found =
      std::find_if(adapters.begin(), adapters.end(),
                   [&](const runtime::RunAdapter& one) { return one.name == wanted.name; });
  const size_t index =
      wanted.id ? static_cast<size_t>(*wanted.id) : static_cast<size_t>(found - adapters.begin());
  if (index < adapters.size()) return index;
  throw ApiError(
      400,
      fmt::format("{}: the model has no adapter {}; its adapters: {}", kField,
                  wanted.id ? std::to_string(*wanted.id) : fmt::format("\"{}\"", wanted.name),
                  names_of(model)),
      kField);
}

// The adapter of "NAME:ADAPTER", if `called` is one.
std::optional<size_t> called_adapter(const runtime::Model& model, const std::string& name,
                                     const std::string& called) {
  const size_t colon = called.rfind(':');
  if (called == name || colon == called.npos) return std::nullopt;
  const auto& adapters = model.adapters();
  for (size_t i = 0; i < adapters.size(); ++i) {
    if (adapters[i].name == called.substr(colon + 1)) return i;
  }
  return std::nullopt;
}

}  // namespace

std::vector<float> AdapterDefaults::get() const {
  const std::lock_guard lock(mutex_);
  return scales_;
}

void AdapterDefaults::set(std::vector<float> scales) {
  const std::lock_guard lock(mutex_);
  scales_ = std::move(scales);
}

std::string adapter_list(const runtime::Model& model, const AdapterDefaults& defaults) {
  const std::vector<float> scales = defaults.get();
  JsonWriter json;
  json.begin_array();
  int64_t id = 0;
  for (const runtime::RunAdapter& adapter : model.adapters()) {
    const float own = adapter.applied ? adapter.scale : 0.0F;
    json.begin_object().member("id", id).member("path", adapter.path);
    json.member("scale", scales.empty() ? own : scales[static_cast<size_t>(id)]);
    json.member("name", adapter.name).end_object();
    ++id;
  }
  return json.end_array().text();
}

std::vector<float> read_adapter_scales(const runtime::Model& model, std::string_view body) {
  return read_field("", [&] {
    const Json list = Json::parse(body, "request");
    if (!list.is_array()) list.invalid(R"(expected a list of {"id": 0, "scale": 0.5})");
    std::vector<float> scales(model.adapters().size(), 0.0F);
    for (const Json& item : list.elements()) {
      const WantedAdapter wanted = read_item(item);
      if (!wanted.id) item.invalid("needs an id");
      scales[find_adapter(model, wanted)] = static_cast<float>(wanted.scale.value_or(0.0));
    }
    runtime::check_adapters(model, scales);
    return scales;
  });
}

std::string answering_name(const runtime::Model& model, const std::string& name,
                           const std::string& called) {
  const auto adapter = called_adapter(model, name, called);
  return adapter ? fmt::format("{}:{}", name, model.adapters()[*adapter].name) : name;
}

std::optional<std::vector<WantedAdapter>> read_adapters(const RequestFields& body) {
  const auto value = body.find(kField);
  if (!value) return std::nullopt;
  return read_field(body.spelling(kField), [&] {
    std::vector<WantedAdapter> wanted;
    if (!value->is_array()) {
      // "" names none.
      if (!value->is_string() || !value->as_string().empty()) wanted.push_back(read_item(*value));
      return std::optional(wanted);
    }
    for (const Json& item : value->elements()) wanted.push_back(read_item(item));
    return std::optional(wanted);
  });
}

std::vector<float> adapters_of(const runtime::Model& model, const std::string& name,
                               const std::string& called,
                               const std::optional<std::vector<WantedAdapter>>& wanted,
                               const AdapterDefaults& defaults) {
  const auto& adapters = model.adapters();
  std::vector<float> numbers(adapters.size(), 0.0F);
  if (const auto adapter = called_adapter(model, name, called)) {
    if (wanted) {
      throw ApiError(400,
                     fmt::format("{}: the model \"{}\" names an adapter already", kField, called),
                     kField);
    }
    numbers[*adapter] = adapters[*adapter].scale;
    return numbers;
  }
  if (!wanted) return defaults.get();
  for (const WantedAdapter& one : *wanted) {
    const size_t index = find_adapter(model, one);
    numbers[index] = one.scale ? static_cast<float>(*one.scale) : adapters[index].scale;
  }
  return numbers;
}

}  // namespace pippin::server
