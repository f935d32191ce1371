// Images that --image names.
#pragma once

#include <string>
#include <vector>

#include "pippin/chat/message.h"

namespace pippin::cli {

// Reads the files, whose paths begin error messages. Throws NotFound, Io, LimitExceeded.
std::vector<MessageImage> read_image_files(const std::vector<std::string>& paths);

}  // namespace pippin::cli
