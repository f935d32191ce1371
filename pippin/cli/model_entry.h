// Models by name, as servers and chats have them.
#pragma once

#include <string>

#include "pippin/server/model_list.h"

namespace pippin::cli {

// "name=path", or a path: the name is that of the file, without its suffix, or org/name. "demo",
// where there is no such file, is the demo model.
server::ModelEntry model_entry(const std::string& text);

}  // namespace pippin::cli
