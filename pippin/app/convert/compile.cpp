#include "pippin/app/convert/compile.h"

#include "pippin/base/error.h"
#include "pippin/base/stopwatch.h"
#include "pippin/mil/package/package.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

void check_compiled_output(const fs::path& output) {
  if (output.extension() != ".mlmodelc") {
    fail(ErrorCode::InvalidArgument, "{}: the output has to end in .mlmodelc", output.string());
  }
  if (!fs::exists(output) || fs::exists(output / "coremldata.bin") ||
      fs::exists(output / "model.mil")) {
    return;
  }
  if (fs::is_directory(output) && fs::is_empty(output)) return;
  fail(ErrorCode::InvalidArgument, "{}: exists and is not a compiled model, so it is not replaced",
       output.string());
}

}  // namespace

PackageOutput compile_model(const fs::path& source, const fs::path& output,
                            const std::function<void(uint64_t, uint64_t)>& progress) {
  const auto start = std::chrono::steady_clock::now();
  check_compiled_output(output);
  mil::write_compiled(mil::read_package(source), output, {progress});
  return {output, folder_bytes(output), seconds_since(start)};
}

}  // namespace pippin::app
