#include "pippin/app/convert/convert_encoder.h"

#include <chrono>

#include "pippin/app/convert/convert_vision.h"
#include "pippin/app/convert/write_converted.h"
#include "pippin/base/error.h"
#include "pippin/families/encoder.h"
#include "pippin/families/stateful.h"
#include "pippin/models/encoders/encoder_decoder.h"
#include "pippin/models/encoders/encoder_model.h"
#include "pippin/models/model_source.h"

namespace pippin::app {

namespace fs = std::filesystem;

bool makes_encoder(const fs::path& source, const ConvertOptions& options) {
  if (options.family == families::encoder::kName) return true;
  return options.family == families::stateful::kName && !options.random_weights &&
         !models::is_made_of_packages(source) &&
         models::text_task(source) != models::TextTask::Generate;
}

void check_encoder_options(const ConvertOptions& options, const char* what) {
  refuse_vision_options(options, what);
  const auto refuse = [&](const char* option) {
    fail(ErrorCode::InvalidArgument, "{}: not for {}", option, what);
  };
  if (options.random_weights) refuse("--random-weights");
  if (!options.fused_adapter.empty()) refuse("--fuse-adapter");
  if (!options.query_lengths.empty()) refuse("--query-lengths");
  if (options.prefill_length > 0) refuse("--prefill");
  if (!options.adapters.empty()) refuse("--adapter");
  if (!options.compression.calibrate.empty()) refuse("--calibrate");
}

ConvertResult convert_encoder(const fs::path& source, const fs::path& output,
                              const ConvertOptions& options,
                              const std::optional<compress::Recipe>& recipe) {
  const auto start = std::chrono::steady_clock::now();
  check_encoder_options(options);
  check_package_output(output);
  const bool is_encoder_decoder = options.family != families::encoder::kName &&
                                  models::text_task(source) == models::TextTask::EncodeDecode;
  models::PackedMatrices packed;
  mil::Model model =
      is_encoder_decoder
          ? models::build_encoder_decoder(source, {.context = options.context, .packed = &packed})
          : models::build_encoder(source, {.context = options.context, .packed = &packed});
  ConvertResult result = write_converted(
      model, output,
      is_encoder_decoder ? models::encoder_decoder_files(source) : models::encoder_files(source),
      options, recipe, start);
  result.packed = models::packed_summary(packed);
  result.context = model.description(model.default_function).inputs.front().ranges.at(1).upper;
  return result;
}

}  // namespace pippin::app
