// What a request says of tools: which there are, and which the model may or has to call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/answer/tool.h"
#include "pippin/server/request_fields.h"

namespace pippin::server {

struct ToolRequest {
  enum class Choice : uint8_t {
    None,
    Auto,      // as the model likes
    Required,  // one or more calls, and nothing else
  };
  using Tools = std::shared_ptr<const std::vector<answer::Tool>>;
  Tools offered;   // in the prompt; null: none
  Tools callable;  // of them; null: none
  Choice choice = Choice::None;
  bool is_parallel = true;           // more than one call in an answer
  std::string id_prefix;             // of calls
  std::vector<std::string> skipped;  // fields of tools that there are not here

  bool is_constrained() const;  // what is written of calls is sure to be right
};

// tools, tool_choice and parallel_tool_calls of OpenAI's endpoint. Throws ApiError(400).
ToolRequest read_tool_request(const RequestFields& body);
// The same of OpenAI's Responses API. Tools that are no functions are skipped, and cannot be
// chosen.
ToolRequest read_response_tool_request(const RequestFields& body);
// tools and tool_choice of Anthropic's, with the changes of tools in messages. Tools of Anthropic's
// servers are skipped, unless they are the only ones. Throws ApiError(400).
ToolRequest read_anthropic_tool_request(const RequestFields& body);

// Makes ids such as "call_a8Hk..."; of nine letters and digits where the model writes ids itself,
// which then are.
std::function<std::string()> call_ids(const std::string& prefix, bool are_short);

}  // namespace pippin::server
