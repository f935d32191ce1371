// Tokens on the command line: ids, or a text for a tokenizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/app/token_input.h"

namespace pippin::cli {

struct TokenArguments {
  std::string ids;                   // "1,2,3"
  std::string text;                  // for read_text()
  std::optional<std::string> words;  // the text itself
  std::vector<std::string> images;   // paths
};

// Exactly one of ids, text and words must be given, none or one of the last two with images;
// otherwise, and for a wrong list, throws CLI::ValidationError (wrong usage). Throws NotFound, Io.
app::TokenInput read_token_input(const TokenArguments& arguments);

// "1,2,3", "1 2 3", "[1, 2, 3]". Throws InvalidArgument for anything that is not a list of ids.
std::vector<int32_t> parse_ids(std::string_view text);

}  // namespace pippin::cli
