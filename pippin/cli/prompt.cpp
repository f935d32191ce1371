#include "pippin/cli/prompt.h"

#include <filesystem>

#include "pippin/app/open/hub_model.h"

namespace pippin::cli {

bool looks_like_model(const std::string& argument) {
  std::error_code ignored;
  // A prompt may be longer than any file name, which is an error of exists(), not a file.
  if (!argument.empty() && argument != "-" && std::filesystem::exists(argument, ignored)) {
    return true;
  }
  if (argument.find_first_of(" \t\n") != std::string::npos) return false;
  for (const char* ending : {".mlpackage", ".mlpackage/", ".mlmodelc", ".mlmodelc/", ".mlmodel",
                             ".mlpackage.zip", ".mlmodelc.zip", ".mlmodel.zip", ".mlmodel.gz"}) {
    if (argument.ends_with(ending)) return true;
  }
  return argument.starts_with("/") || argument.starts_with("./") || argument.starts_with("../");
}

RunArguments split_run_arguments(const std::optional<std::string>& first,
                                 const std::optional<std::string>& second, bool prompt_elsewhere) {
  if (!first) return {};
  if (second || looks_like_model(*first)) return {*first, second};
  if (prompt_elsewhere && app::repository_of(*first)) return {*first, second};
  return {"", first};
}

std::string join_piped(std::string piped, const std::string& prompt, bool raw) {
  if (raw) return piped + prompt;
  const size_t last = piped.find_last_not_of(" \t\r\n");
  if (last == std::string::npos) return prompt;
  piped.resize(std::min(piped.find_last_not_of("\r\n"), piped.size()) + 1);
  return piped + "\n\n" + prompt;
}

}  // namespace pippin::cli
