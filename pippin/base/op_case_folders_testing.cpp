#include "pippin/base/op_case_folders_testing.h"

#include <map>
#include <stdexcept>

#include "pippin/base/files/child_process.h"
#include "pippin/base/testing.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

// Unpacks an archive's content once; the build does the same with the repository's archives.
fs::path unpacked(const fs::path& archive, const fs::path& name) {
  fs::path folder = fs::path(PIPPIN_BINARY_DIR) / name;
  const ChildResult ended =
      run_child({PIPPIN_CMAKE, "-P", source_dir() / "cmake/unpack.cmake", folder, archive},
                std::chrono::minutes(10));
  if (ended.end != ChildResult::End::Exited || ended.status != 0) {
    throw std::runtime_error(archive.string() + " cannot be unpacked: " + ended.last_line);
  }
  return folder;
}

// Adds the case folders of a test.
void add_cases(const fs::path& test, std::map<fs::path, fs::path>& cases) {
  if (!fs::is_directory(test)) return;
  for (const auto& one : fs::directory_iterator(test)) {
    cases.emplace(test.filename() / one.path().filename(), one.path());
  }
}

}  // namespace

std::vector<fs::path> op_case_folders(const std::string& set, const std::string& collection) {
  std::map<fs::path, fs::path> cases;
  const std::string name = collection + "/" + set;
  for (const fs::path& test : shared_entries(name)) add_cases(test, cases);
  if (const auto archive = shared_data(name + "/cases.tar.gz")) {
    const fs::path all = unpacked(*archive, fs::path("shared-" + collection) / set);
    for (const auto& test : fs::directory_iterator(all)) add_cases(test, cases);
  }
  std::vector<fs::path> folders;
  folders.reserve(cases.size());
  for (const auto& [name, folder] : cases) folders.push_back(folder);
  return folders;
}

}  // namespace pippin
