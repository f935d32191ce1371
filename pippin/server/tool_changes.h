// Anthropic's tools that are added and removed during a conversation.
#pragma once

#include <vector>

#include "pippin/io/json.h"
#include "pippin/model_output/tool.h"

namespace pippin::server {

// Returns the tools at the end of `messages`; a value that is not a list changes nothing. Deferred
// tools are included once a "tool_reference" block names them; "tool_addition" and "tool_removal"
// blocks add and remove tools. Throws Error(InvalidArgument) for an invalid definition.
std::vector<model_output::Tool> changed_tools(std::vector<model_output::Tool> listed,
                                              const Json& messages);

}  // namespace pippin::server
