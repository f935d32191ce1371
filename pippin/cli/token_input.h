// The tokens that a command measures a model on: ids as they are, or a text that its tokenizer
// splits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pippin/cli/open_model.h"

namespace pippin::cli {

struct TokenInput {
  std::string ids;   // "1,2,3"
  std::string text;  // a file, - for stdin
};

// Exactly one of the two must be given. Throws CLI::ValidationError (usage), NotFound, Io.
void check_token_input(const TokenInput& input);

// "1,2,3": throws CLI::ValidationError for what is no list of ids.
std::vector<int32_t> parse_ids(const std::string& text);

// The contents of a file, or of stdin where it is "-".
std::string read_text(const std::string& file);

}  // namespace pippin::cli
