// Named models for servers and chats.
#pragma once

#include <string>

#include "pippin/server/model_list.h"

namespace pippin::cli {

// Parses "name=path" or a path, whose name is the file's without its suffix, or org/name. "demo" is
// the demo model unless there is such a file.
server::ModelEntry model_entry(const std::string& text);

}  // namespace pippin::cli
