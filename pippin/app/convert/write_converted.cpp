#include "pippin/app/convert/write_converted.h"

#include <utility>

#include "pippin/base/threads/cancel.h"
#include "pippin/families/package.h"
#include "pippin/mil/check/verify.h"
#include "pippin/models/registry.h"

namespace pippin::app {

models::BuildOptions build_options(const ConvertOptions& options) {
  models::BuildOptions build;
  build.context = options.context;
  build.query_lengths = options.query_lengths;
  build.prefill_length = options.prefill_length;
  build.fused_adapter = options.fused_adapter;
  build.doubled_norms = options.norms == "safe";
  build.adapters = options.adapters;
  build.prediction = true;
  return build;
}

ConvertResult write_converted(mil::Model& model, const std::filesystem::path& output,
                              std::vector<mil::ExtraFile> files, const ConvertOptions& options,
                              const std::optional<compress::Recipe>& recipe,
                              std::chrono::steady_clock::time_point start) {
  mil::verify(model.program);
  check_cancel();
  ConvertResult result;
  result.parameters = models::num_parameters(model);
  if (recipe) {
    result.compression = compress::compress(model, *recipe, options.compression.threads);
  }
  mil::WriteOptions write;
  write.extra_files = std::move(files);
  write.progress = options.progress;
  static_cast<PackageOutput&>(result) = write_output(model, output, write, start);
  result.architecture = model.metadata.user_defined.at(families::kArchitectureKey);
  return result;
}

}  // namespace pippin::app
