// Options of converting in the words of the command line: those of no other type than the number or
// text that they stand for are ConvertOptions as they are.
#pragma once

#include <string>
#include <vector>

#include "pippin/app/convert.h"

namespace pippin::app {

struct ConvertArguments {
  ConvertOptions options;
  std::vector<std::string> adapters;  // NAME=DIR
  std::string chunks = "auto";        // or a number
  std::string max_chunk_mb = "ios";   // a number of 10^6 bytes, ios or macos
};

// The options with all that the arguments say. Throws InvalidArgument.
ConvertOptions options_of(const ConvertArguments& arguments);

}  // namespace pippin::app
