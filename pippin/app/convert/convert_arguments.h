// Conversion options as strings from the command line; options that need no parsing are in
// ConvertOptions itself.
#pragma once

#include <string>
#include <vector>

#include "pippin/app/convert/convert.h"

namespace pippin::app {

struct ConvertArguments {
  ConvertOptions options;
  std::vector<std::string> adapters;  // NAME=DIR
  std::string chunks = "auto";        // or a number
  std::string max_chunk_mb = "ios";   // a multiple of 10^6 bytes, ios or macos
  std::string image_size = {};        // HEIGHTxWIDTH; empty: the model's own
};

// The options with all arguments applied. Throws InvalidArgument.
ConvertOptions options_of(const ConvertArguments& arguments);

}  // namespace pippin::app
