// The tools of a request, and which of them the model may or must call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/model_output/tool.h"
#include "pippin/server/request_fields.h"

namespace pippin::server {

struct ToolRequest {
  enum class Choice : uint8_t {
    None,
    Auto,      // the model decides
    Required,  // one or more calls, and nothing else
  };
  using Tools = std::shared_ptr<const std::vector<model_output::Tool>>;
  Tools offered;   // in the prompt; null: none
  Tools callable;  // some of `offered`; null: none
  Choice choice = Choice::None;
  bool is_parallel = true;           // an answer may have several calls
  std::string id_prefix;             // of calls
  std::vector<std::string> skipped;  // tools that are not supported, as names of fields

  bool is_constrained() const;  // generated calls are certain to be valid
};

// Reads tools, tool_choice and parallel_tool_calls of OpenAI's endpoint. Throws ApiError(400).
ToolRequest read_tool_request(const RequestFields& body);
// Does the same for OpenAI's Responses API. Tools that are not functions are skipped, and cannot be
// chosen.
ToolRequest read_response_tool_request(const RequestFields& body);
// Reads tools and tool_choice of Anthropic's endpoint, with the changes of tools in messages. Tools
// that Anthropic's servers run are skipped. Throws ApiError(400), also if there are only such
// tools.
ToolRequest read_anthropic_tool_request(const RequestFields& body);

// Returns a generator of ids such as "call_a8Hk...". `are_short`: nine letters and digits, for
// models that write the ids themselves.
std::function<std::string()> call_ids(const std::string& prefix, bool are_short);

}  // namespace pippin::server
