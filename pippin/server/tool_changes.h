// Anthropic's tools that are added and removed during a conversation.
#pragma once

#include <vector>

#include "pippin/answer/tool.h"
#include "pippin/io/json.h"

namespace pippin::server {

// Returns the tools at the end of `messages`; a value that is not a list changes nothing. Deferred
// tools are included once a "tool_reference" block names them; "tool_addition" and "tool_removal"
// blocks add and remove tools. Throws Error(InvalidArgument) for an invalid definition.
std::vector<answer::Tool> changed_tools(std::vector<answer::Tool> listed, const Json& messages);

}  // namespace pippin::server
