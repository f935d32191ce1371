// A function that a model can call.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/json.h"

namespace pippin::model_output {

struct Tool {
  std::string name;
  std::string description;   // may be empty
  Json parameters;           // JSON Schema of its arguments, an object
  bool is_strict = false;    // arguments must match the schema
  bool is_deferred = false;  // not in the prompt until a message refers to it
};

// Reads OpenAI's "tools": [{"type": "function", "function": {"name", "description", "parameters",
// "strict"}}]. Throws InvalidArgument with the location: "tools[0].function.name: is missing".
std::vector<Tool> read_tools(const Json& tools);
// Reads the tools of OpenAI's Responses API: the same without the object "function". Skips tools of
// other types, which clients send unasked.
std::vector<Tool> read_response_tools(const Json& tools);
// Reads Anthropic's tools: [{"name", "description", "input_schema", "defer_loading"}]. Skips tools
// of other types than "custom", which have no schema, and adds their types to `others`.
std::vector<Tool> read_anthropic_tools(const Json& tools, std::vector<std::string>& others);

// Returns OpenAI's format, which templates expect.
std::string tools_json(const std::vector<Tool>& tools);

// The kinds of values that an argument may have, as far as its schema shows.
struct ValueKinds {
  bool text = true, other = true;
};
ValueKinds kinds_of(const Tool& tool, std::string_view argument);

}  // namespace pippin::model_output
