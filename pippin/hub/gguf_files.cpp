#include "pippin/hub/gguf_files.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/hub/repository_paths.h"
#include "pippin/io/model_files.h"

namespace pippin::hub {
namespace {

constexpr std::string_view kEnding = ".gguf", kDefaultTag = "q4_k_m";
constexpr std::string_view kGgmlBegin = "ggml-", kGgmlEnding = ".bin";

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return result;
}

bool is_ggml_name(std::string_view name) {
  return name.starts_with(kGgmlBegin) && name.ends_with(kGgmlEnding);
}

bool is_gguf_name(std::string_view name) {
  return name.ends_with(kEnding) && !is_projector_name(name);
}

// Returns "folder/model" for "folder/model-00001-of-00003.gguf".
std::string model_of(std::string_view path) {
  if (path.ends_with(kGgmlEnding)) {
    return std::string(path.substr(0, path.size() - kGgmlEnding.size()));
  }
  std::string_view stem = path.substr(0, path.size() - kEnding.size());
  const size_t of = stem.rfind("-of-");
  const size_t dash = of == stem.npos || of == 0 ? stem.npos : stem.rfind('-', of - 1);
  return std::string(stem.substr(0, dash));
}

bool has_tag(std::string_view model, std::string_view tag) {
  const std::string name = lower_case(model);
  if (!name.ends_with(tag)) return false;
  const size_t before = name.size() - tag.size();
  return before == 0 || std::string_view("-._/").find(name[before - 1]) != std::string_view::npos;
}

}  // namespace

std::vector<std::string> choose_gguf(const std::vector<std::string>& paths, std::string_view tag,
                                     std::string_view repo) {
  std::map<std::string, std::vector<std::string>> models;
  for (const std::string& path : paths) {
    const std::string_view name = name_of(path);
    if (is_gguf_name(name) || is_ggml_name(name)) models[model_of(path)].push_back(path);
  }
  std::vector<std::string> wanted, names;
  for (auto& [model, files] : models) {
    names.push_back(model);
    if (has_tag(model, lower_case(tag.empty() ? kDefaultTag : tag))) wanted.push_back(model);
  }
  if (tag.empty() && models.size() == 1) wanted = names;
  if (models.empty() && tag.empty()) return {};
  if (wanted.size() != 1) {
    if (!tag.empty() && wanted.empty()) {
      fail(ErrorCode::NotFound, "{}: no GGUF or GGML model whose name ends with {} among {}", repo,
           tag, fmt::join(names, ", "));
    }
    fail(ErrorCode::InvalidArgument, "{}: several GGUF or GGML models: name one, {}:TAG, of {}",
         repo, repo, fmt::join(names, ", "));
  }
  std::vector<std::string> files = models[wanted.front()];
  std::sort(files.begin(), files.end());
  return files;
}

std::optional<std::string> choose_projector(const std::vector<std::string>& paths,
                                            std::string_view model) {
  // Types without loss of what towers compute with, smallest first; then others.
  constexpr std::string_view kBest[] = {"f16", "bf16", "f32"};
  const auto rank = [&](const std::string& path) {
    const std::string name = lower_case(name_of(path));
    const bool is_elsewhere = folder_of(path) != folder_of(model);
    size_t type = 0;
    while (type < std::size(kBest) &&
           !has_tag(name.substr(0, name.size() - kEnding.size()), kBest[type])) {
      ++type;
    }
    return std::tuple(is_elsewhere, type, path);
  };
  std::optional<std::string> best;
  for (const std::string& path : paths) {
    const std::string_view folder = folder_of(path);
    const bool is_near = folder.empty() || folder == folder_of(model);
    if (!is_near || !is_projector_name(name_of(path))) continue;
    if (!best || rank(path) < rank(*best)) best = path;
  }
  return best;
}

}  // namespace pippin::hub
