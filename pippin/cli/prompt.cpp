#include "pippin/cli/prompt.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include <unistd.h>

#include "pippin/base/cancel.h"
#include "pippin/base/error.h"
#include "pippin/cli/hub_model.h"

namespace pippin::cli {

bool looks_like_model(const std::string& argument) {
  std::error_code ignored;
  // A prompt may be longer than any file name: that is an error here, and no file.
  if (!argument.empty() && argument != "-" && std::filesystem::exists(argument, ignored)) {
    return true;
  }
  if (argument.find_first_of(" \t\n") != std::string::npos) return false;
  for (const char* ending : {".mlpackage", ".mlpackage/", ".mlmodelc", ".mlmodelc/", ".mlmodel"}) {
    if (argument.ends_with(ending)) return true;
  }
  return argument.starts_with("/") || argument.starts_with("./") || argument.starts_with("../");
}

RunArguments split_run_arguments(const std::optional<std::string>& first,
                                 const std::optional<std::string>& second, bool prompt_elsewhere) {
  if (!first) return {};
  if (second || looks_like_model(*first)) return {*first, second};
  if (prompt_elsewhere && repository_of(*first)) return {*first, second};
  return {"", first};
}

std::string read_stdin() {
  constexpr size_t limit = 64 << 20;
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    check_cancel();
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(ErrorCode::Io, "standard input: {}", std::strerror(errno));
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(count));
    if (text.size() > limit) fail(ErrorCode::LimitExceeded, "standard input is above 64 MB");
  }
}

bool stdin_is_terminal() {
  return ::isatty(STDIN_FILENO) == 1;
}

}  // namespace pippin::cli
