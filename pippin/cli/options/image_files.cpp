#include "pippin/cli/options/image_files.h"

#include "pippin/base/files/file.h"

namespace pippin::cli {

std::vector<MessageImage> read_image_files(const std::vector<std::string>& paths) {
  constexpr size_t kLargestImage = size_t{1} << 30;
  std::vector<MessageImage> images;
  images.reserve(paths.size());
  for (const std::string& path : paths) images.push_back({read_file(path, kLargestImage), path});
  return images;
}

}  // namespace pippin::cli
