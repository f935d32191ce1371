#include "pippin/io/frame_files.h"

#include <algorithm>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/files/file.h"

namespace pippin {

namespace fs = std::filesystem;

FrameFiles read_frame_files(const fs::path& path, size_t max_bytes) {
  if (!fs::is_directory(path)) return {read_file(path, max_bytes), {}};
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
    std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && !name.starts_with('.')) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  FrameFiles files;
  files.frames.reserve(names.size());
  for (const std::string& name : names) {
    files.frames.push_back(read_file(path / name, max_bytes));
    max_bytes -= files.frames.back().size();
  }
  if (files.frames.empty()) {
    fail(ErrorCode::NotFound, "{}: the folder has no frames of a video", path.string());
  }
  return files;
}

}  // namespace pippin
