#include "pippin/app/convert/package_output.h"

#include "pippin/base/error.h"
#include "pippin/base/stopwatch.h"
#include "pippin/io/model_files.h"
#include "pippin/mil/package/interface.h"
#include "pippin/mil/package/package.h"

namespace pippin::app {

namespace fs = std::filesystem;

namespace {

void drop_compiled_attributes(mil::Model& model) {
  mil::drop_flexible_shapes(model.program);
  for (mil::PipelineStage& stage : model.stages) drop_compiled_attributes(stage.model);
}

}  // namespace

mil::Model read_to_rewrite(const fs::path& source) {
  mil::Model model = mil::read_package(source);
  drop_compiled_attributes(model);
  return model;
}

void check_package_output(const fs::path& output) {
  if (output.extension() != ".mlpackage") {
    fail(ErrorCode::InvalidArgument, "{}: the output has to end in .mlpackage", output.string());
  }
  if (!fs::exists(output) || fs::exists(output / "Manifest.json")) return;
  if (fs::is_directory(output) && fs::is_empty(output)) return;
  fail(ErrorCode::InvalidArgument, "{}: exists and is not a package, so it is not replaced",
       output.string());
}

void check_folder_output(const fs::path& output) {
  if (output.extension() == ".mlpackage") {
    fail(ErrorCode::InvalidArgument,
         "{}: the output is a folder of packages, so its name cannot end in .mlpackage",
         output.string());
  }
  if (!fs::exists(output)) return;
  const bool folder = fs::is_directory(output);
  const bool described = !files_of_role(output, FileRole::Family).empty();
  bool has_package = false;
  if (folder && described) {
    for (const auto& entry : fs::directory_iterator(output)) {
      has_package = has_package || (entry.path().extension() == ".mlpackage" &&
                                    fs::exists(entry.path() / "Manifest.json"));
    }
  }
  if (has_package || (folder && fs::is_empty(output))) return;
  fail(ErrorCode::InvalidArgument,
       "{}: exists and is not a folder of packages, so it is not replaced", output.string());
}

PackageOutput write_output(const mil::Model& model, const std::filesystem::path& output,
                           const mil::WriteOptions& options,
                           std::chrono::steady_clock::time_point start) {
  mil::write_package(model, output, options);
  return {output, folder_bytes(output), seconds_since(start)};
}

uint64_t folder_bytes(const fs::path& folder) {
  uint64_t total = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) total += entry.file_size();
  }
  return total;
}

}  // namespace pippin::app
