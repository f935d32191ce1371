#include "pippin/model_output/tool.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::model_output {
namespace {

constexpr size_t kMaxTools = 1024;
constexpr size_t kMaxName = 128;
constexpr int kMaxReferences = 32;

[[noreturn]] void refuse(const std::string& place, std::string_view what) {
  fail(ErrorCode::InvalidArgument, "{}: {}", place, what);
}

std::string name_of(const Json& object, const std::string& place) {
  const auto value = object.find("name");
  if (!value) refuse(place + ".name", "is missing");
  if (!value->is_string()) refuse(place + ".name", "expected a string");
  std::string name(value->as_string());
  const bool fits = std::all_of(name.begin(), name.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
  });
  if (name.empty() || name.size() > kMaxName || !fits) {
    refuse(place + ".name", "expected up to 128 letters, digits, '_', '-' and '.'");
  }
  return name;
}

std::string text_member(const Json& object, const char* key, const std::string& place) {
  const auto value = object.find(key);
  if (!value) return {};
  if (!value->is_string()) refuse(place + "." + key, "expected a string");
  return std::string(value->as_string());
}

Json parameters_of(const Json& object, const char* key, const std::string& place) {
  const auto value = object.find(key);
  if (!value) return Json::parse(R"({"type": "object", "properties": {}})", "parameters");
  if (!value->is_object()) refuse(place + "." + key, "expected a JSON Schema, which is an object");
  if (const auto type = value->find("type"); type && type->is_string()) {
    if (type->as_string() != "object") refuse(place + "." + key, "the type has to be \"object\"");
  }
  return *value;
}

template <typename Read>
std::vector<Tool> read_each(const Json& tools, Read&& read) {
  if (!tools.is_array()) refuse("tools", "expected a list");
  if (tools.size() > kMaxTools) {
    refuse("tools", fmt::format("has {} tools, at most {} are taken", tools.size(), kMaxTools));
  }
  std::vector<Tool> result;
  std::set<std::string> names;
  for (size_t i = 0; i < tools.size(); ++i) {
    const std::string place = fmt::format("tools[{}]", i);
    if (!tools.at(i).is_object()) refuse(place, "expected an object");
    std::optional<Tool> tool = read(tools.at(i), place);
    if (!tool) continue;
    result.push_back(*std::move(tool));
    if (!names.insert(result.back().name).second) {
      refuse(place, fmt::format("\"{}\" is the name of another tool, too", result.back().name));
    }
  }
  return result;
}

Tool read_function(const Json& tool, const std::string& place) {
  const auto function = tool.find("function");
  // Some clients omit the outer object, as in OpenAI's newer endpoint.
  const std::string where = function ? place + ".function" : place;
  const Json& object = function ? *function : tool;
  if (!object.is_object()) refuse(where, "expected an object");
  bool is_strict = false;
  if (const auto strict = object.find("strict")) {
    if (!strict->is_bool()) refuse(where + ".strict", "expected true or false");
    is_strict = strict->as_bool();
  }
  return {name_of(object, where), text_member(object, "description", where),
          parameters_of(object, "parameters", where), is_strict};
}

// Returns the schema that a reference within `root` points to; nothing if it points elsewhere.
std::optional<Json> referred(const Json& root, std::string_view reference) {
  if (!reference.starts_with("#/")) return std::nullopt;
  Json at = root;
  for (size_t begin = 2; begin <= reference.size();) {
    const size_t end = std::min(reference.find('/', begin), reference.size());
    if (!at.is_object()) return std::nullopt;
    const auto next = at.find(reference.substr(begin, end - begin));
    if (!next) return std::nullopt;
    at = *next;
    begin = end + 1;
  }
  return at;
}

ValueKinds kinds_of_schema(const Json& root, Json schema, int references) {
  constexpr ValueKinds kNone{false, false};
  const auto joined = [](ValueKinds a, ValueKinds b) {
    return ValueKinds{a.text || b.text, a.other || b.other};
  };
  if (!schema.is_object()) return {};
  if (const auto reference = schema.find("$ref"); reference && reference->is_string()) {
    const auto found = referred(root, reference->as_string());
    if (!found || references == kMaxReferences) return {};
    return kinds_of_schema(root, *found, references + 1);
  }
  const auto add = [&](ValueKinds& kinds, const Json& value) {
    (value.is_string() ? kinds.text : kinds.other) = true;
  };
  if (const auto type = schema.find("type")) {
    ValueKinds kinds = kNone;
    const auto add_type = [&](const Json& name) {
      if (!name.is_string()) return;
      (name.as_string() == "string" ? kinds.text : kinds.other) = true;
    };
    if (type->is_array()) {
      for (const Json& name : type->elements()) add_type(name);
    } else {
      add_type(*type);
    }
    return kinds;
  }
  if (const auto value = schema.find("const")) {
    ValueKinds kinds = kNone;
    add(kinds, *value);
    return kinds;
  }
  if (const auto values = schema.find("enum"); values && values->is_array()) {
    ValueKinds kinds = kNone;
    for (const Json& value : values->elements()) add(kinds, value);
    return kinds;
  }
  for (const char* key : {"anyOf", "oneOf"}) {
    const auto branches = schema.find(key);
    if (!branches || !branches->is_array()) continue;
    ValueKinds kinds = kNone;
    for (const Json& branch : branches->elements()) {
      kinds = joined(kinds, kinds_of_schema(root, branch, references + 1));
    }
    return kinds;
  }
  // There is no type, but keywords may show it.
  if (schema.contains("properties") || schema.contains("items")) return {false, true};
  if (schema.contains("pattern") || schema.contains("maxLength")) return {true, false};
  return {};
}

}  // namespace

std::vector<Tool> read_tools(const Json& tools) {
  return read_each(tools, [](const Json& tool, const std::string& place) -> std::optional<Tool> {
    const auto type = tool.find("type");
    if (type && (!type->is_string() || type->as_string() != "function")) {
      refuse(place + ".type", "only functions are taken");
    }
    return read_function(tool, place);
  });
}

std::vector<Tool> read_response_tools(const Json& tools) {
  return read_each(tools, [](const Json& tool, const std::string& place) -> std::optional<Tool> {
    const auto type = tool.find("type");
    if (!type || !type->is_string()) refuse(place + ".type", "expected a string");
    if (type->as_string() != "function") return std::nullopt;
    return read_function(tool, place);
  });
}

std::vector<Tool> read_anthropic_tools(const Json& tools, std::vector<std::string>& others) {
  return read_each(tools, [&](const Json& tool, const std::string& place) -> std::optional<Tool> {
    if (const auto type = tool.find("type")) {
      if (!type->is_string()) refuse(place + ".type", "expected a string");
      if (type->as_string() != "custom") {
        others.emplace_back(type->as_string());
        return std::nullopt;
      }
    }
    const auto is_true = [&](const char* name) {
      const auto value = tool.find(name);
      return value && value->is_bool() && value->as_bool();
    };
    return Tool{name_of(tool, place), text_member(tool, "description", place),
                parameters_of(tool, "input_schema", place), is_true("strict"),
                is_true("defer_loading")};
  });
}

std::string tools_json(const std::vector<Tool>& tools) {
  JsonWriter json;
  json.begin_array();
  for (const Tool& tool : tools) {
    json.begin_object().member("type", "function").key("function").begin_object();
    json.member("name", tool.name);
    // Many templates require one.
    json.member("description", tool.description);
    json.key("parameters").value(tool.parameters).end_object().end_object();
  }
  return json.end_array().text();
}

ValueKinds kinds_of(const Tool& tool, std::string_view argument) {
  const auto properties = tool.parameters.find("properties");
  if (!properties || !properties->is_object()) return {};
  const auto schema = properties->find(argument);
  if (!schema) return {};
  const ValueKinds kinds = kinds_of_schema(tool.parameters, *schema, 0);
  return kinds.text || kinds.other ? kinds : ValueKinds{};
}

}  // namespace pippin::model_output
