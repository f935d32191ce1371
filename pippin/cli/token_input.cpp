#include "pippin/cli/token_input.h"

#include <charconv>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/base/file.h"
#include "pippin/cli/prompt.h"

namespace pippin::cli {

void check_token_input(const TokenInput& input) {
  if (input.ids.empty() == input.text.empty()) {
    throw CLI::ValidationError("one of --ids and --text is needed");
  }
}

std::vector<int32_t> parse_ids(const std::string& text) {
  std::vector<int32_t> ids;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    while (at != end && *at == ' ') ++at;
    int32_t id = 0;
    const auto [next, error] = std::from_chars(at, end, id);
    if (error != std::errc{} || id < 0) {
      throw CLI::ValidationError(fmt::format("--ids: \"{}\" at character {} is no id; give 1,2,3",
                                             std::string(at, end).substr(0, 20),
                                             at - text.data() + 1));
    }
    ids.push_back(id);
    at = next;
    while (at != end && *at == ' ') ++at;
    if (at == end) return ids;
    if (*at != ',') {
      throw CLI::ValidationError(
          fmt::format("--ids: '{}' at character {}; give 1,2,3", *at, at - text.data() + 1));
    }
    ++at;
  }
}

std::string read_text(const std::string& file) {
  return file == "-" ? read_stdin() : read_file(file);
}

}  // namespace pippin::cli
