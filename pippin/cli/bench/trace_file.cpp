#include "pippin/cli/bench/trace_file.h"

#include <cstdio>

#include <fmt/format.h>

#include "pippin/base/files/output.h"

namespace pippin::cli {

TraceFile::TraceFile(const std::string& path) {
  if (path.empty()) return;
  file_.emplace(path);
  FileWriter(file_->path()).close();
}

void TraceFile::finish() {
  if (!file_) return;
  FileWriter writer(file_->path());
  writer.write(profile_->chrome_trace());
  writer.close();
  file_->commit();
  fmt::print(stderr, "\n{}", profile_->table());
}

}  // namespace pippin::cli
