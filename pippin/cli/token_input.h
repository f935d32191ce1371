// Tokens on the command line: ids as they are, or a text that a tokenizer splits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/app/open_model.h"

namespace pippin::cli {

struct TokenInput {
  std::string ids;   // "1,2,3"
  std::string text;  // as read_text() takes it
};

// Exactly one of the two must be given. Throws CLI::ValidationError (usage), NotFound, Io.
void check_token_input(const TokenInput& input);

// "1,2,3", "1 2 3", "[1, 2, 3]". Throws InvalidArgument for what is no list of ids.
std::vector<int32_t> parse_ids(std::string_view text);
// The ids of TokenInput: a wrong list is wrong usage (CLI::ValidationError).
std::vector<int32_t> given_ids(const TokenInput& input);

}  // namespace pippin::cli
