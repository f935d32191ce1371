#include "pippin/app/convert/convert_family.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "pippin/app/convert/convert_vision.h"
#include "pippin/app/convert/package_output.h"
#include "pippin/base/error.h"
#include "pippin/base/files/output.h"
#include "pippin/base/stopwatch.h"
#include "pippin/base/text.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/families/anemll.h"
#include "pippin/families/package.h"
#include "pippin/families/stateful.h"
#include "pippin/families/vision.h"
#include "pippin/families/whisperkit.h"
#include "pippin/families/windowed.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/encoders/whisperkit.h"
#include "pippin/models/family/anemll.h"
#include "pippin/models/family/windowed.h"
#include "pippin/models/vision/vision_model.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;
using models::PackagePart;

// The compressed packages of a folder, not yet written.
struct PackageSet {
  std::vector<PackagePart> parts;
  std::optional<compress::Result> compression;
  std::string meta_name, meta_text;
  std::vector<mil::ExtraFile> files;  // of the source, in the folder
};

compress::ModelPart part_of(PackagePart::Kind kind) {
  switch (kind) {
    case PackagePart::Kind::Embedding:
      return compress::ModelPart::Embeddings;
    case PackagePart::Kind::Head:
      return compress::ModelPart::Head;
    case PackagePart::Kind::Whole:
      return compress::ModelPart::Whole;
    default:
      return compress::ModelPart::Layers;
  }
}

void compress_set(PackageSet& set, const std::optional<compress::Recipe>& recipe, int threads) {
  if (!recipe) return;
  std::vector<compress::PartialModel> partial;
  for (PackagePart& part : set.parts) {
    if (part.kind != PackagePart::Kind::Helper) {
      partial.push_back({&part.model, part_of(part.kind)});
    }
  }
  set.compression = compress::compress(partial, *recipe, threads);
}

models::PartPalette palette_of(const std::optional<compress::Recipe>& recipe,
                               std::optional<compress::Scheme> compress::Recipe::*part) {
  if (!recipe) return {};
  const compress::Scheme scheme = ((*recipe).*part).value_or(recipe->scheme);
  if (scheme.kind != compress::Scheme::Kind::Palette) return {};
  return {scheme.bits, scheme.group};
}

class AnemllSets {
 public:
  AnemllSets(const fs::path& source, const ConvertOptions& options,
             const std::optional<compress::Recipe>& recipe)
      : options_(options), recipe_(recipe), family_(source, family_options(options, recipe)) {}

  const models::Anemll& family() const { return family_; }

  // Uses a fixed number of chunks or, if none is given, the fewest, at least `least`, whose weights
  // are below the limit.
  PackageSet make(int64_t least) const {
    const int64_t layers = family_.num_layers();
    if (options_.chunks > 0) {
      const int64_t count = options_.chunks;
      if (count > layers) {
        fail(ErrorCode::InvalidArgument, "{} chunks: the model has {} layers", count, layers);
      }
      return make_with(count);
    }
    const uint64_t limit = options_.max_chunk_bytes;
    for (int64_t count = least;; ++count) {
      PackageSet set = make_with(count);
      uint64_t largest = 0, total = 0;
      for (const PackagePart& part : set.parts) {
        if (part.kind != PackagePart::Kind::Layers) continue;
        const uint64_t bytes = mil::weight_file_bytes(part.model);
        largest = std::max(largest, bytes);
        total += bytes;
      }
      if (largest <= limit) return set;
      if (count >= layers) refuse(largest);
      // Skips numbers that cannot be enough.
      count = std::max(count, std::min(layers, static_cast<int64_t>((total - 1) / limit)) - 1);
    }
  }

  // Whether the written chunks are within the limit; throws if more of them cannot help.
  bool fits(const fs::path& folder, const PackageSet& set) const {
    if (options_.chunks > 0) return true;
    uint64_t largest = 0;
    for (const PackagePart& part : set.parts) {
      if (part.kind != PackagePart::Kind::Layers) continue;
      largest = std::max(largest, folder_bytes(folder / (part.stem + families::kPackageEnding)));
    }
    if (largest <= options_.max_chunk_bytes) return true;
    if (num_chunks(set) >= family_.num_layers()) refuse(largest);
    return false;
  }

  static int64_t num_chunks(const PackageSet& set) {
    return std::count_if(set.parts.begin(), set.parts.end(), [](const PackagePart& part) {
      return part.kind == PackagePart::Kind::Layers;
    });
  }

 private:
  static models::AnemllOptions family_options(const ConvertOptions& options,
                                              const std::optional<compress::Recipe>& recipe) {
    models::AnemllOptions result;
    result.context = options.context;
    result.batch = options.batch;
    result.prefix = options.prefix;
    result.fused_adapter = options.fused_adapter;
    result.argmax_in_model = options.argmax_in_model;
    result.embeddings = palette_of(recipe, &compress::Recipe::embeddings);
    result.ffn = palette_of(recipe, &compress::Recipe::ffn);
    result.head = palette_of(recipe, &compress::Recipe::head);
    return result;
  }

  PackageSet make_with(int64_t count) const {
    PackageSet set;
    set.parts.push_back(family_.embeddings());
    for (int64_t i = 0; i < count; ++i) {
      check_cancel();
      set.parts.push_back(family_.chunk(i, count));
    }
    set.parts.push_back(family_.head());
    compress_set(set, recipe_, options_.compression.threads);
    set.meta_name = families::anemll::meta::kFile;
    set.meta_text = family_.meta_yaml(count);
    return set;
  }

  [[noreturn]] void refuse(uint64_t bytes) const {
    fail(ErrorCode::InvalidArgument,
         "--max-chunk-mb {:g}: a layer alone takes {}, so no number of chunks keeps the limit",
         static_cast<double>(options_.max_chunk_bytes) / 1e6, format_bytes(bytes));
  }

  const ConvertOptions& options_;
  const std::optional<compress::Recipe>& recipe_;
  models::Anemll family_;
};

// iOS 17's opset, as in the original, if it supports the recipe.
models::WindowedOptions windowed_options(const ConvertOptions& options,
                                         const std::optional<compress::Recipe>& recipe) {
  models::WindowedOptions result;
  result.context = options.context;
  result.prefix = options.prefix;
  result.fused_adapter = options.fused_adapter;
  result.blocks_per_chunk = options.blocks_per_chunk;
  result.window = options.window;
  result.cache = options.cache;
  result.doubled_norms = options.norms != "plain";
  if (recipe) result.opset = std::max(result.opset, compress::needed_opset(*recipe));
  return result;
}

models::WhisperKitOptions whisperkit_options(const ConvertOptions& options,
                                             const std::optional<compress::Recipe>& recipe) {
  models::WhisperKitOptions result;
  result.context = options.context;
  if (recipe) result.opset = std::max(result.opset, compress::needed_opset(*recipe));
  return result;
}

// Bytes written so far and in total, over all packages.
class SetProgress {
 public:
  SetProgress(const PackageSet& set, const std::function<void(uint64_t, uint64_t)>& report)
      : report_(report) {
    for (const PackagePart& part : set.parts) total_ += mil::weight_file_bytes(part.model);
  }
  mil::WriteOptions options() {
    mil::WriteOptions options;
    options.progress = [this](uint64_t done, uint64_t total) {
      last_ = total;
      if (report_) report_(done_ + done, total_);
    };
    return options;
  }
  void finish_part() { done_ += std::exchange(last_, 0); }

 private:
  const std::function<void(uint64_t, uint64_t)>& report_;
  uint64_t done_ = 0, last_ = 0, total_ = 0;
};

void write_set(const PackageSet& set, const fs::path& folder,
               const std::function<void(uint64_t, uint64_t)>& progress) {
  try {
    fs::create_directories(folder);
    SetProgress bar(set, progress);
    const mil::WriteOptions options = bar.options();
    for (const PackagePart& part : set.parts) {
      mil::write_package(part.model, folder / (part.stem + families::kPackageEnding), options);
      bar.finish_part();
    }
    for (const mil::ExtraFile& file : set.files) {
      const fs::path path = folder / file.name;
      fs::create_directories(path.parent_path());
      write_file(path, file.content);
    }
    write_file(folder / set.meta_name, set.meta_text);
  } catch (const fs::filesystem_error& error) {
    fail(ErrorCode::Io, "{}", error.what());
  }
}

}  // namespace

ConvertResult convert_to_folder(const fs::path& source, const fs::path& output,
                                const ConvertOptions& options,
                                const std::optional<compress::Recipe>& recipe) {
  const auto start = std::chrono::steady_clock::now();
  const fs::path target = output.has_filename() ? output : output.parent_path();
  check_folder_output(target);
  PendingOutput pending(target);
  ConvertResult result;
  result.path = target;
  PackageSet set;
  if (options.family == families::anemll::kName) {
    const AnemllSets sets(source, options, recipe);
    result.architecture = sets.family().description().class_name;
    result.context = sets.family().context();
    result.parameters = sets.family().num_parameters();
    for (int64_t least = 1;; least = AnemllSets::num_chunks(set) + 1) {
      set = sets.make(least);
      set.files = models::folder_files(source);
      write_set(set, pending.path(), options.progress);
      if (sets.fits(pending.path(), set)) break;
      fs::remove_all(pending.path());
    }
  } else if (options.family == families::stateful::kName) {
    VisionParts parts = vision_parts(source, options);
    result.architecture = parts.language.model.metadata.user_defined.at(families::kArchitectureKey);
    result.context = parts.context;
    result.packed = std::move(parts.packed);
    result.parameters =
        models::num_parameters(parts.language.model) + models::num_parameters(parts.tower.model);
    set.parts.push_back(std::move(parts.language));
    set.parts.push_back(std::move(parts.tower));
    set.files = models::vision_files(source);
    set.meta_name = families::vision::meta::kFile;
    set.meta_text = std::move(parts.meta_json);
    for (const PackagePart& part : set.parts) mil::verify(part.model.program);
    compress_set(set, recipe, options.compression.threads);
    write_set(set, pending.path(), options.progress);
  } else if (options.family == families::whisperkit::kName) {
    const models::WhisperKit family(source, whisperkit_options(options, recipe));
    set.parts = family.parts();
    set.files = models::whisperkit_files(source);
    set.meta_name = families::whisperkit::meta::kFile;
    set.meta_text = family.meta_json();
    result.architecture = family.description().class_name;
    result.context = family.context();
    result.parameters = family.num_parameters();
    compress_set(set, recipe, options.compression.threads);
    write_set(set, pending.path(), options.progress);
  } else {
    const models::Windowed family(source, windowed_options(options, recipe));
    result.architecture = family.description().class_name;
    result.context = family.context();
    result.parameters = family.num_parameters();
    set.parts = family.parts();
    set.files = models::folder_files(source);
    set.meta_name = families::windowed::meta::kFile;
    set.meta_text = family.meta_json();
    compress_set(set, recipe, options.compression.threads);
    write_set(set, pending.path(), options.progress);
  }
  result.packages = static_cast<int64_t>(set.parts.size());
  result.compression = std::move(set.compression);
  result.bytes = folder_bytes(pending.path());
  pending.commit();
  result.seconds = seconds_since(start);
  return result;
}

}  // namespace pippin::app
