#include "pippin/constrain/schema/document.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/constrain/schema/uri.h"

namespace pippin::constrain {

namespace {

constexpr std::array<std::string_view, 12> kSchemas{"additionalProperties",
                                                    "additionalItems",
                                                    "items",
                                                    "contains",
                                                    "not",
                                                    "if",
                                                    "then",
                                                    "else",
                                                    "propertyNames",
                                                    "unevaluatedItems",
                                                    "unevaluatedProperties",
                                                    "contentSchema"};
constexpr std::array<std::string_view, 5> kLists{"allOf", "anyOf", "oneOf", "prefixItems", "items"};
constexpr std::array<std::string_view, 6> kMaps{"properties",  "patternProperties", "$defs",
                                                "definitions", "dependentSchemas",  "dependencies"};

bool is_schema(const Json& json) {
  return json.is_object() || json.is_bool();
}

std::string escaped(std::string_view key) {
  std::string text = "/";
  for (const char c : key) {
    if (c == '~') {
      text += "~0";
    } else if (c == '/') {
      text += "~1";
    } else {
      text += c;
    }
  }
  return text;
}

std::optional<Draft> draft_of(std::string_view uri) {
  constexpr std::array<std::pair<std::string_view, Draft>, 5> kDrafts{
      {{"json-schema.org/draft-04/schema", Draft::Draft4},
       {"json-schema.org/draft-06/schema", Draft::Draft6},
       {"json-schema.org/draft-07/schema", Draft::Draft7},
       {"json-schema.org/draft/2019-09/schema", Draft::Draft2019},
       {"json-schema.org/draft/2020-12/schema", Draft::Draft2020}}};
  if (uri.ends_with('#')) uri.remove_suffix(1);
  if (uri.starts_with("https://")) {
    uri.remove_prefix(8);
  } else if (uri.starts_with("http://")) {
    uri.remove_prefix(7);
  }
  for (const auto& [name, draft] : kDrafts) {
    if (uri == name) return draft;
  }
  return std::nullopt;
}

std::optional<std::string> text_at(const Json& json, std::string_view key) {
  if (!json.is_object() || !json.has(key) || !json.at(key).is_string()) return std::nullopt;
  return std::string(json.at(key).as_string());
}

}  // namespace

SchemaDocument::SchemaDocument(const Json& root) : root_(root), scopes_(1) {
  scope_ids_.emplace(std::vector<uint32_t>(), 0);
  if (!is_schema(root)) fail(ErrorCode::InvalidArgument, "#: a schema is an object, true or false");
  add_resource(root, "", "", Draft::Draft2020);
  enter(root, "", 0);
  intern(root_, "", extended(0, 0));
}

uint32_t SchemaDocument::add_resource(const Json& json, const std::string& pointer,
                                      const std::string& uri, Draft draft) {
  if (const auto declared = text_at(json, "$schema")) {
    const std::optional<Draft> known = draft_of(*declared);
    if (!known.has_value())
      fail(ErrorCode::Unsupported,
           "#{}/$schema: \"{}\" is not a draft of JSON Schema that is known", pointer, *declared);
    draft = *known;
  }
  const auto index = static_cast<uint32_t>(resources_.size());
  resources_.push_back({uri, pointer, draft, false, {}, {}});
  by_uri_.emplace(uri, index);
  by_pointer_.emplace(pointer, index);
  return index;
}

void SchemaDocument::enter(const Json& json, const std::string& pointer, uint32_t resource) {
  if (!json.is_object()) return;
  const bool old_reference = resources_[resource].draft <= Draft::Draft7 && json.has("$ref");
  for (const std::string_view name : {"$id", "id"}) {
    const auto id = text_at(json, name);
    if (!id.has_value() || old_reference ||
        (name == "id" && resources_[resource].draft != Draft::Draft4))
      continue;
    const Uri uri = resolve_uri(resources_[resource].uri, *id);
    if (id->starts_with('#')) {
      resources_[resource].anchors.emplace(uri.fragment, pointer);
    } else if (pointer.empty()) {
      resources_[resource].uri = uri.absolute;
      by_uri_.emplace(uri.absolute, resource);
    } else {
      resource = add_resource(json, pointer, uri.absolute, resources_[resource].draft);
    }
  }
  if (const auto anchor = text_at(json, "$anchor"))
    resources_[resource].anchors.emplace(*anchor, pointer);
  if (const auto anchor = text_at(json, "$dynamicAnchor")) {
    resources_[resource].anchors.emplace(*anchor, pointer);
    resources_[resource].dynamic_anchors.emplace(*anchor, pointer);
  }
  if (json.has("$recursiveAnchor") && json.at("$recursiveAnchor").is_bool() &&
      json.at("$recursiveAnchor").as_bool() && pointer == resources_[resource].pointer) {
    resources_[resource].has_recursive_anchor = true;
  }
  for (const auto& [key, value] : json.members()) {
    const std::string below = pointer + escaped(key);
    if (value.is_array() && ranges::contains(kLists, key)) {
      for (size_t i = 0; i < value.size(); ++i)
        enter(value.at(i), below + "/" + std::to_string(i), resource);
    } else if (value.is_object() && ranges::contains(kMaps, key)) {
      for (const auto& [name, inner] : value.members())
        enter(inner, below + escaped(name), resource);
    } else if (ranges::contains(kSchemas, key)) {
      enter(value, below, resource);
    }
  }
}

uint32_t SchemaDocument::resource_of(std::string_view pointer) const {
  for (;;) {
    if (const auto it = by_pointer_.find(pointer); it != by_pointer_.end()) return it->second;
    pointer = pointer.substr(0, pointer.rfind('/'));
  }
}

// The resources entered, outermost first. Only those with dynamic anchors count.
uint32_t SchemaDocument::extended(uint32_t scope, uint32_t resource) {
  const Resource& entered = resources_[resource];
  std::vector<uint32_t> list = scopes_[scope];
  if (entered.dynamic_anchors.empty() && !entered.has_recursive_anchor) return scope;
  if (ranges::contains(list, resource)) return scope;
  list.push_back(resource);
  const auto [it, is_new] = scope_ids_.emplace(list, static_cast<uint32_t>(scopes_.size()));
  if (is_new) scopes_.push_back(list);
  return it->second;
}

SchemaId SchemaDocument::intern(const Json& json, std::string pointer, uint32_t scope) {
  const uint32_t resource = resource_of(pointer);
  scope = extended(scope, resource);
  const auto [it, is_new] =
      ids_.emplace(std::pair(pointer, scope), static_cast<SchemaId>(subschemas_.size()));
  if (is_new) {
    if (!is_schema(json))
      fail(ErrorCode::InvalidArgument, "#{}: a schema is an object, true or false", pointer);
    subschemas_.push_back({json, std::move(pointer), resource, scope});
  }
  return it->second;
}

SchemaId SchemaDocument::at(SchemaId id, std::string_view keyword) {
  const Subschema from = subschemas_[id];
  return intern(from.json.at(keyword), from.pointer + escaped(keyword), from.scope);
}

SchemaId SchemaDocument::at(SchemaId id, std::string_view keyword, std::string_view key) {
  const Subschema from = subschemas_[id];
  return intern(from.json.at(keyword).at(key), from.pointer + escaped(keyword) + escaped(key),
                from.scope);
}

SchemaId SchemaDocument::at(SchemaId id, std::string_view keyword, size_t index) {
  const Subschema from = subschemas_[id];
  return intern(from.json.at(keyword).at(index),
                from.pointer + escaped(keyword) + "/" + std::to_string(index), from.scope);
}

std::string SchemaDocument::where(SchemaId id, std::string_view keyword) const {
  return "#" + subschemas_[id].pointer + (keyword.empty() ? "" : escaped(keyword));
}

std::pair<Json, std::string> SchemaDocument::find(uint32_t resource, std::string_view pointer,
                                                  SchemaId from, std::string_view keyword) const {
  std::string path = resources_[resource].pointer + std::string(pointer);
  Json json = root_;
  for (size_t i = 0; i < path.size();) {
    const size_t end = std::min(path.find('/', i + 1), path.size());
    std::string key;
    for (size_t j = i + 1; j < end; ++j) {
      if (path[j] == '~' && j + 1 < end && (path[j + 1] == '0' || path[j + 1] == '1')) {
        key += path[++j] == '0' ? '~' : '/';
      } else {
        key += path[j];
      }
    }
    size_t index = 0;
    const auto parsed = std::from_chars(key.data(), key.data() + key.size(), index);
    const bool is_index = parsed.ec == std::errc() && parsed.ptr == key.data() + key.size();
    if (json.is_object() && json.contains(key)) {
      json = json.at(key);
    } else if (json.is_array() && is_index && index < json.size()) {
      json = json.at(index);
    } else {
      fail(ErrorCode::InvalidArgument, "{}: there is nothing at \"#{}\" of the schema",
           where(from, keyword), path);
    }
    i = end;
  }
  return {json, std::move(path)};
}

SchemaId SchemaDocument::reference(SchemaId from, std::string_view keyword) {
  const Subschema source = subschemas_[from];
  const Json value = source.json.at(keyword);
  if (!value.is_string())
    fail(ErrorCode::InvalidArgument, "{}: expected a string", where(from, keyword));
  const Uri uri = resolve_uri(resources_[source.resource].uri, value.as_string());
  const auto known = by_uri_.find(uri.absolute);
  if (known == by_uri_.end()) {
    fail(ErrorCode::Unsupported,
         "{}: \"{}\" is not in this schema, and nothing is loaded from elsewhere",
         where(from, keyword), value.as_string());
  }
  uint32_t resource = known->second;
  if (keyword == "$recursiveRef" && resources_[resource].has_recursive_anchor) {
    for (const uint32_t entered : scopes_[source.scope]) {
      if (!resources_[entered].has_recursive_anchor) continue;
      resource = entered;
      break;
    }
  }
  if (uri.fragment.empty() || uri.fragment.starts_with('/')) {
    auto [json, pointer] = find(resource, uri.fragment, from, keyword);
    return intern(json, std::move(pointer), source.scope);
  }
  const auto anchor = resources_[resource].anchors.find(uri.fragment);
  if (anchor == resources_[resource].anchors.end()) {
    fail(ErrorCode::InvalidArgument, "{}: the schema has no anchor \"{}\"", where(from, keyword),
         uri.fragment);
  }
  std::string target = anchor->second;
  const auto dynamic = resources_[resource].dynamic_anchors.find(uri.fragment);
  if (keyword == "$dynamicRef" && dynamic != resources_[resource].dynamic_anchors.end() &&
      dynamic->second == target) {
    for (const uint32_t entered : scopes_[source.scope]) {
      const auto it = resources_[entered].dynamic_anchors.find(uri.fragment);
      if (it == resources_[entered].dynamic_anchors.end()) continue;
      target = it->second;
      break;
    }
  }
  auto [json, pointer] = find(0, target, from, keyword);
  return intern(json, std::move(pointer), source.scope);
}

}  // namespace pippin::constrain
