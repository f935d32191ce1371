#include "pippin/app/convert.h"

#include <chrono>

#include "pippin/app/package_output.h"
#include "pippin/base/cancel.h"
#include "pippin/base/stopwatch.h"
#include "pippin/mil/package.h"
#include "pippin/mil/verify.h"

namespace pippin::app {

ConvertResult convert(const std::filesystem::path& source, const std::filesystem::path& output,
                      const models::BuildOptions& build,
                      const std::function<void(uint64_t, uint64_t)>& progress,
                      const std::optional<compress::Recipe>& recipe) {
  const auto start = std::chrono::steady_clock::now();
  check_package_output(output);
  mil::Model model = models::build(source, build);
  mil::verify(model.program);
  check_cancel();
  ConvertResult result;
  result.parameters = models::num_parameters(model);
  if (recipe) result.compression = compress::compress(model, *recipe);

  mil::WriteOptions write;
  write.extra_files = models::package_files(source);
  write.progress = progress;
  mil::write_package(model, output, write);

  result.path = output;
  result.architecture = model.metadata.user_defined.at("co.huggingface.exporters.architecture");
  result.context = model.description(model.default_function).states.at(0).shape.at(3);
  result.bytes = folder_bytes(output);
  result.seconds = seconds_since(start);
  return result;
}

}  // namespace pippin::app
