#include "pippin/io/model_files.h"

#include <algorithm>

#include "pippin/base/error.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

std::string_view folder_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

bool fits_name(std::string_view pattern, std::string_view name) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  const std::string_view begin = pattern.substr(0, star), end = pattern.substr(star + 1);
  return name.size() >= begin.size() + end.size() && name.starts_with(begin) && name.ends_with(end);
}

bool fits_path(std::string_view pattern, std::string_view path) {
  return fits_name(folder_of(pattern), folder_of(path)) &&
         fits_name(name_of(pattern), name_of(path));
}

// Returns the folders that a row's path matches.
std::vector<fs::path> folders_of(const fs::path& folder, std::string_view pattern) {
  if (pattern.find('*') == std::string_view::npos) return {folder / pattern};
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_directory() || !fits_name(pattern, entry.path().filename().string())) continue;
    found.push_back(entry.path());
    if (found.size() > kMostModelFiles) break;
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

bool fits_weights(const WeightFiles& form, std::string_view name) {
  return fits_name(form.pattern, name) && !name.starts_with("consolidated") &&
         !name.starts_with("adapter_");
}

bool is_projector_name(std::string_view name) {
  return name.ends_with(".gguf") && name.find("mmproj") != name.npos;
}

const ModelFile* find_model_file(std::string_view path) {
  const auto row = std::find_if(kModelFiles.begin(), kModelFiles.end(),
                                [&](const ModelFile& file) { return fits_path(file.name, path); });
  return row == kModelFiles.end() ? nullptr : &*row;
}

std::vector<fs::path> files_of_row(const fs::path& folder, const ModelFile& row) {
  if (!row.required_file.empty() && !fs::is_regular_file(folder / row.required_file)) return {};
  if (row.name.find('*') == std::string_view::npos) {
    if (!fs::is_regular_file(folder / row.name)) return {};
    return {folder / row.name};
  }
  std::vector<fs::path> found;
  if (!fs::is_directory(folder)) return found;
  for (const fs::path& inner : folders_of(folder, folder_of(row.name))) {
    if (!fs::is_directory(inner)) continue;
    for (const auto& entry : fs::directory_iterator(inner)) {
      if (!fits_name(name_of(row.name), entry.path().filename().string())) continue;
      if (entry.is_regular_file()) found.push_back(entry.path());
      if (found.size() > kMostModelFiles) {
        fail(ErrorCode::LimitExceeded, "{}: more than {} files {}", folder.string(),
             kMostModelFiles, row.name);
      }
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<fs::path> files_of_role(const fs::path& folder, FileRole role) {
  std::vector<fs::path> found;
  for (const ModelFile& row : kModelFiles) {
    if (row.role != role) continue;
    const auto files = files_of_row(folder, row);
    found.insert(found.end(), files.begin(), files.end());
  }
  return found;
}

bool has_weights(const fs::path& folder) {
  if (!fs::is_directory(folder)) return false;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    for (const WeightFiles& form : kWeightFiles) {
      if (name == form.index || fits_weights(form, name)) return true;
    }
  }
  return false;
}

}  // namespace pippin
