#include "pippin/app/convert/convert.h"

#include <chrono>

#include <fmt/format.h>

#include "pippin/app/convert/calibration.h"
#include "pippin/app/convert/calibration_corpus.h"
#include "pippin/app/convert/compress.h"
#include "pippin/app/convert/convert_encoder.h"
#include "pippin/app/convert/convert_family.h"
#include "pippin/app/convert/convert_image.h"
#include "pippin/app/convert/convert_speech.h"
#include "pippin/app/convert/convert_vision.h"
#include "pippin/app/convert/package_output.h"
#include "pippin/app/convert/write_converted.h"
#include "pippin/app/open/gguf_model.h"
#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/families/anemll.h"
#include "pippin/families/encoder.h"
#include "pippin/families/package.h"
#include "pippin/families/stateful.h"
#include "pippin/families/vision.h"
#include "pippin/families/whisperkit.h"
#include "pippin/families/windowed.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/causal_lm.h"
#include "pippin/models/model_source.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;

// A file must be the configuration of a model without weights.
void check_source(const fs::path& source, bool random_weights) {
  const bool file = fs::is_regular_file(source) && !find_gguf(source);
  if (file && !random_weights) {
    fail(ErrorCode::InvalidArgument,
         "{}: a file; a model is a folder, a package or a .gguf (config.json alone goes with "
         "--random-weights)",
         source.string());
  }
  if (!file && random_weights) {
    fail(ErrorCode::InvalidArgument, "{}: --random-weights takes the path of a config.json",
         source.string());
  }
}

void check_number(const char* option, int64_t number, int64_t smallest, int64_t largest) {
  if (number >= smallest && number <= largest) return;
  fail(ErrorCode::InvalidArgument, "{} {}: not a number from {} to {}", option, number, smallest,
       largest);
}

void check_numbers(const ConvertOptions& options) {
  check_number("--prefill", options.prefill_length, 0, INT64_MAX);
  check_number("--batch", options.batch, 0, 4096);
  check_number("--chunks", options.chunks, 0, INT64_MAX);
  check_number("--blocks-per-chunk", options.blocks_per_chunk, 1, 10000);
  check_number("--window", options.window, 1, 4096);
  check_number("--cache", options.cache, 1, 1 << 20);
  if (options.max_chunk_bytes == 0) {
    fail(ErrorCode::InvalidArgument, "--max-chunk-mb 0: ios, macos or a number above 0");
  }
}

void check_vision(const ConvertOptions& options, bool compresses) {
  if (options.image_size) {
    check_number("--image-size", options.image_size->height, 1, kMaxImageSide);
    check_number("--image-size", options.image_size->width, 1, kMaxImageSide);
  }
  if (!options.compress_vision) return;
  if (!compresses) {
    fail(ErrorCode::InvalidArgument, "--compress-vision without a way to compress");
  }
  if (!options.compression.calibrate.empty()) {
    fail(ErrorCode::InvalidArgument,
         "--compress-vision: not with --calibrate, since a text says nothing about images");
  }
}

void check_norms(const ConvertOptions& options) {
  const std::string& norms = options.norms;
  if (!norms.empty() && norms != "plain" && norms != "safe") {
    fail(ErrorCode::InvalidArgument, "--norms {}: plain or safe", norms);
  }
  if (norms == "plain" && options.family == families::anemll::kName) {
    fail(ErrorCode::InvalidArgument, "--norms plain: the norms of --family anemll are safe");
  }
  const bool has_none =
      options.family == families::encoder::kName || options.family == families::whisperkit::kName;
  if (!norms.empty() && has_none) {
    fail(ErrorCode::InvalidArgument, "--norms: not for --family {}", options.family);
  }
}

void check_family(const ConvertOptions& options) {
  const std::string& family = options.family;
  if (family == families::stateful::kName) return;
  if (family == families::encoder::kName) return check_encoder_options(options);
  const bool is_whisperkit = family == families::whisperkit::kName;
  if (family != families::anemll::kName && family != families::windowed::kName && !is_whisperkit) {
    fail(ErrorCode::InvalidArgument,
         "--family {}: stateful, encoder, anemll, windowed or whisperkit", family);
  }
  const auto refuse = [&](const char* option) {
    fail(ErrorCode::InvalidArgument, "{}: only for --family stateful, not {}", option, family);
  };
  if (options.image_size) refuse("--image-size");
  if (options.compress_vision) refuse("--compress-vision");
  if (!options.query_lengths.empty()) refuse("--query-lengths");
  if (options.prefill_length > 0) refuse("--prefill");
  if (!options.adapters.empty()) refuse("--adapter");
  if (!options.compression.calibrate.empty()) refuse("--calibrate");
  if (!is_whisperkit) return;
  const auto refuse_speech = [&](const char* option) {
    fail(ErrorCode::InvalidArgument, "{}: not for --family whisperkit", option);
  };
  if (options.random_weights) refuse_speech("--random-weights");
  if (!options.fused_adapter.empty()) refuse_speech("--fuse-adapter");
  if (!options.prefix.empty()) refuse_speech("--prefix");
}

CompressOptions compression_of(const ConvertOptions& options) {
  CompressOptions compression = options.compression;
  // An adapter's narrow matrices are small, and their errors matter.
  if (!options.adapters.empty()) compression.exempt.emplace_back("*_lora_*");
  return compression;
}

std::optional<compress::Recipe> checked_recipe(const fs::path& source,
                                               const ConvertOptions& options) {
  check_source(source, options.random_weights);
  auto recipe = recipe_of(compression_of(options));
  if (!recipe && !options.compression.calibrate.empty()) {
    fail(
        ErrorCode::InvalidArgument,
        "--calibrate without a way to compress: --quantize, --palettize, --mixed or --target-size");
  }
  check_family(options);
  check_norms(options);
  check_numbers(options);
  check_vision(options, recipe.has_value());
  return recipe;
}

ConvertResult convert_to_package(const fs::path& source, const fs::path& output,
                                 const ConvertOptions& options,
                                 const std::optional<compress::Recipe>& recipe) {
  const auto start = std::chrono::steady_clock::now();
  check_package_output(output);
  models::BuildOptions build = build_options(options);
  models::PackedMatrices packed;
  build.packed = &packed;
  mil::Model model = models::build(source, build);
  ConvertResult result =
      write_converted(model, output, models::package_files(source), options, recipe, start);
  result.packed = models::packed_summary(packed);
  result.context = models::context_of(model.description(model.default_function));
  return result;
}

// With the tokens of the text, so that an unsuitable one is reported before the long part.
CompressPackageOptions calibrated_options(const fs::path& source, const ConvertOptions& options) {
  CompressPackageOptions compress;
  compress.compression = compression_of(options);
  compress.progress = options.progress;
  auto& ids = compress.compression.calibration_ids;
  if (ids.empty() && !is_calibration_folder(options.compression.calibrate)) {
    ids = calibration_tokens(options.compression.calibrate, models::text_folder(source),
                             options.compression.calibrate_tokens);
  }
  return compress;
}

void add_compressed(const CompressResult& compressed, ConvertResult& result) {
  result.compression = compressed.compression;
  result.path = compressed.path;
  result.bytes = compressed.bytes;
  result.seconds += compressed.seconds;
}

// The model must run before it is compressed: first writes the fp16 package into a folder next to
// the output, then compresses it.
ConvertResult convert_calibrated(const fs::path& source, const fs::path& output,
                                 const ConvertOptions& options) {
  check_package_output(output);
  const CompressPackageOptions compress = calibrated_options(source, options);
  const PendingOutput scratch(output);
  fs::create_directory(scratch.path());
  const fs::path plain = scratch.path() / "plain.mlpackage";
  ConvertResult result = convert_to_package(source, plain, options, std::nullopt);
  add_compressed(compress_package(plain, output, compress), result);
  return result;
}

// The same for a folder with a vision tower, of which the text's model is a part.
ConvertResult convert_calibrated_folder(const fs::path& source, const fs::path& output,
                                        const ConvertOptions& options) {
  const fs::path target = output.has_filename() ? output : output.parent_path();
  check_folder_output(target);
  CompressPackageOptions compress = calibrated_options(source, options);
  PendingOutput pending(target);
  ConvertResult result = convert_to_folder(source, pending.path(), options, std::nullopt);
  const fs::path language = pending.path() / fmt::format("{}{}", families::vision::kLanguagePart,
                                                         families::kPackageEnding);
  if (const auto& size = compress.compression.target_size) {
    compress.other_bytes = folder_bytes(pending.path()) - folder_bytes(language);
    if (compress.other_bytes >= *size) {
      fail(ErrorCode::InvalidArgument,
           "--target-size {}: the parts other than the language model take {} bytes", *size,
           compress.other_bytes);
    }
  }
  add_compressed(compress_package(language, language, compress), result);
  result.bytes = folder_bytes(pending.path());
  pending.commit();
  result.path = target;
  return result;
}

}  // namespace

void check_convert_options(const fs::path& source, const ConvertOptions& options) {
  checked_recipe(source, options);
}

ConvertResult convert(const fs::path& source, const fs::path& output,
                      const ConvertOptions& options) {
  const auto recipe = checked_recipe(source, options);
  const auto file = find_gguf(source);
  if (file) {
    const fs::path folder = gguf_folder_with_tokenizer(*file, options.mmproj);
    if (folder != source) return convert(folder, output, options);
  } else if (!options.mmproj.empty()) {
    fail(ErrorCode::InvalidArgument, "--mmproj: belongs to a GGUF file; {} is not one",
         source.string());
  }
  if (makes_speech(source, options)) return convert_speech(source, output, options, recipe);
  if (makes_image_package(source, options)) {
    return convert_image(source, output, options, recipe);
  }
  if (makes_encoder(source, options)) {
    if (!options.norms.empty()) {
      fail(ErrorCode::InvalidArgument, "--norms: not for a model that embeds or scores texts");
    }
    return convert_encoder(source, output, options, recipe);
  }
  const bool has_vision = makes_vision(source, output, options);
  if (has_vision && !options.compression.calibrate.empty()) {
    return convert_calibrated_folder(source, output, options);
  }
  if (!has_vision) warn_without_vision(source, output, options);
  if (has_vision || options.family != families::stateful::kName) {
    return convert_to_folder(source, output, options, recipe);
  }
  if (!options.compression.calibrate.empty()) return convert_calibrated(source, output, options);
  return convert_to_package(source, output, options, recipe);
}

}  // namespace pippin::app
