// Tokens on the command line: ids as they are, or a text that a tokenizer splits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/app/token_input.h"

namespace pippin::cli {

struct TokenArguments {
  std::string ids;   // "1,2,3"
  std::string text;  // as read_text() takes it
};

// Exactly one of the two must be given, else and for a wrong list it is wrong usage
// (CLI::ValidationError). Throws NotFound, Io.
app::TokenInput read_token_input(const TokenArguments& arguments);

// "1,2,3", "1 2 3", "[1, 2, 3]". Throws InvalidArgument for anything that is not a list of ids.
std::vector<int32_t> parse_ids(std::string_view text);

}  // namespace pippin::cli
