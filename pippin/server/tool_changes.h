// Anthropic's tools that come and go while a conversation goes on.
#pragma once

#include <vector>

#include "pippin/answer/tool.h"
#include "pippin/io/json.h"

namespace pippin::server {

// The tools at the end of `messages`, which is a list, or not what it should be: then it changes
// nothing. Deferred tools are among them once a block "tool_reference" names them; blocks
// "tool_addition" and "tool_removal" add and remove some. Throws Error(InvalidArgument) for a
// definition that is not valid.
std::vector<answer::Tool> changed_tools(std::vector<answer::Tool> listed, const Json& messages);

}  // namespace pippin::server
