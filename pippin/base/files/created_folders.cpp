#include "pippin/base/files/created_folders.h"

#include <system_error>

#include "pippin/base/error.h"

namespace pippin {

namespace fs = std::filesystem;

CreatedFolders::~CreatedFolders() {
  std::error_code ignored;  // remove() leaves a folder with content
  for (auto folder = created_.rbegin(); folder != created_.rend(); ++folder) {
    fs::remove(*folder, ignored);
  }
}

void CreatedFolders::create(const fs::path& folder) {
  fs::path whole;
  for (const fs::path& part : fs::absolute(folder)) {
    whole /= part;
    std::error_code error;
    if (fs::create_directory(whole, error)) created_.push_back(whole);
    if (error) {
      fail(ErrorCode::Io, "{}: cannot make the folder: {}", whole.string(), error.message());
    }
  }
}

}  // namespace pippin
