#include "pippin/cli/options/model_entry.h"

#include <filesystem>

#include "pippin/hub/repo_spec.h"

namespace pippin::cli {

server::ModelEntry model_entry(const std::string& text) {
  const auto exists = [](const std::string& path) { return std::filesystem::exists(path); };
  const size_t equals = text.find('=');
  if (equals != std::string::npos && !exists(text)) {
    return {text.substr(0, equals), model_entry(text.substr(equals + 1)).path};
  }
  if (text == "demo" && !exists(text)) return {"demo", ""};
  if (hub::parse_repo_spec(text) && !exists(text)) return {text, text};
  std::filesystem::path path = std::filesystem::path(text).lexically_normal();
  if (path == "." || path == "..") path = std::filesystem::absolute(path).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  const bool is_package = path.extension() == ".mlpackage" || path.extension() == ".mlmodelc";
  return {is_package ? path.stem().string() : path.filename().string(), text};
}

}  // namespace pippin::cli
