#include "pippin/cli/options.h"

#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "pippin/base/error.h"

namespace pippin::cli {

CLI::Validator between(int64_t smallest, int64_t largest) {
  const auto check = [=](const std::string& text) {
    int64_t value = 0;
    const bool is_number = CLI::detail::lexical_cast(text, value);
    if (is_number && value >= smallest && value <= largest) return std::string();
    return fmt::format("{} is not a number from {} to {}", text, smallest, largest);
  };
  return CLI::Validator(check, "");
}

void print_out(const std::string& text) {
  if (text.empty()) return;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    fail(ErrorCode::Io, "standard output: cannot write");
  }
}

}  // namespace pippin::cli
