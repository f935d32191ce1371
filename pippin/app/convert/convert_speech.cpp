#include "pippin/app/convert/convert_speech.h"

#include <chrono>

#include "pippin/app/convert/convert_encoder.h"
#include "pippin/app/convert/write_converted.h"
#include "pippin/base/error.h"
#include "pippin/families/stateful.h"
#include "pippin/models/model_source.h"
#include "pippin/models/speech/speech_model.h"

namespace pippin::app {

namespace fs = std::filesystem;

bool makes_speech(const fs::path& source, const ConvertOptions& options) {
  return options.family == families::stateful::kName && !options.random_weights &&
         models::is_speech_model(source);
}

ConvertResult convert_speech(const fs::path& source, const fs::path& output,
                             const ConvertOptions& options,
                             const std::optional<compress::Recipe>& recipe) {
  const auto start = std::chrono::steady_clock::now();
  check_encoder_options(options, "a model that recognizes speech");
  if (!options.norms.empty()) {
    fail(ErrorCode::InvalidArgument, "--norms: not for a model that recognizes speech");
  }
  check_package_output(output);
  mil::Model model = models::build_speech(source, {.context = options.context});
  ConvertResult result =
      write_converted(model, output, models::speech_files(source), options, recipe, start);
  result.context = models::frames_of(model);
  return result;
}

}  // namespace pippin::app
