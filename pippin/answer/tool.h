// A function that a model may ask for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/io/json.h"

namespace pippin::answer {

struct Tool {
  std::string name;
  std::string description;   // may be empty
  Json parameters;           // the JSON Schema of its arguments, an object
  bool is_strict = false;    // arguments have to be of the schema
  bool is_deferred = false;  // not for the prompt before a message refers to it
};

// Of OpenAI's "tools": [{"type": "function", "function": {"name", "description", "parameters",
// "strict"}}]. Throws InvalidArgument that says where: "tools[0].function.name: is missing".
std::vector<Tool> read_tools(const Json& tools);
// Of OpenAI's Responses API: the same without the object "function". Tools of other types, which
// clients send unasked, are left out.
std::vector<Tool> read_response_tools(const Json& tools);
// Of Anthropic's: [{"name", "description", "input_schema", "defer_loading"}]. Tools of other types
// than "custom", which have no schema, are left out; `others` gets their types.
std::vector<Tool> read_anthropic_tools(const Json& tools, std::vector<std::string>& others);

// As OpenAI writes them, which is what templates take.
std::string tools_json(const std::vector<Tool>& tools);

// What kinds of values an argument may be, as far as its schema says.
struct ValueKinds {
  bool text = true, other = true;
};
ValueKinds kinds_of(const Tool& tool, std::string_view argument);

}  // namespace pippin::answer
