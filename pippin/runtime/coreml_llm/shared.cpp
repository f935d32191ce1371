#include "pippin/runtime/coreml_llm/shared.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/families/coreml_llm.h"

namespace pippin::runtime {
namespace {

namespace fs = std::filesystem;
namespace coreml_llm = families::coreml_llm;

constexpr std::array<std::string_view, 4> kAngles = {"cos_sliding", "sin_sliding", "cos_full",
                                                     "sin_full"};

const LoadOptions& checked(const LoadOptions& options, const CoreMlLlmFiles& files) {
  if (options.low_memory) {
    fail(ErrorCode::Unsupported, "{}: chunks cannot be unloaded between runs (--low-memory)",
         files.root.string());
  }
  if (options.prefill == PrefillMode::Batches && files.prefill.empty()) {
    fail(ErrorCode::Unsupported, "{}: has no packages for batches ('{}', or '{}' in {}/)",
         files.root.string(), coreml_llm::kPrefillChunks[0], coreml_llm::kFirstChunk,
         coreml_llm::kPrefillFolder);
  }
  return options;
}

void check_prefill_packages(const CoreMlLlmFiles& files) {
  const PackageFolder folder(files.prefill_folder);
  for (const std::string& stem : files.prefill) {
    if (folder.contains(stem)) continue;
    fail(ErrorCode::NotFound, "{}: the package '{}' is missing", files.prefill_folder.string(),
         stem);
  }
}

// Whether files that are missing, damaged or of another form are the cause.
bool is_of_files(ErrorCode code) {
  return code == ErrorCode::NotFound || code == ErrorCode::InvalidFile ||
         code == ErrorCode::Unsupported;
}

std::vector<AngleTable> read_angles(const CoreMlLlmFiles& files) {
  const std::array<fs::path, 2> folders = {files.root, files.chunk_folder};
  std::vector<AngleTable> tables;
  tables.reserve(kAngles.size());
  for (const std::string_view name : kAngles) tables.emplace_back(folders, name);
  return tables;
}

}  // namespace

CoreMlLlmShared::CoreMlLlmShared(PackageFolder given_folder, const CoreMlLlmFiles& files,
                                 ThreadPool& threads, const LoadOptions& given)
    : folder(std::move(given_folder)),
      pool(threads),
      options(checked(given, files)),
      sizes(read_coreml_llm_sizes(files.root)),
      tokens(files.root, coreml_llm::kTokenTable, sizes.vocabulary, sizes.hidden,
             sizes.embed_scale),
      layers(files.root, coreml_llm::kLayerTable, sizes.vocabulary,
             sizes.layers * sizes.layer_width, sizes.layer_scale),
      angles(read_angles(files)),
      unused(files.unused),
      chunks(folder, files.chunks, pool, options, unused) {
  context = options.context > 0 ? std::min(options.context, sizes.context) : sizes.context;
  for (const AngleTable& table : angles) context = std::min(context, table.positions());
  chunks.connect([this](CoreMlLlmInput kind) { return elements_of(kind); });
  if (options.prefill != PrefillMode::Steps && !files.prefill.empty()) open_prefill(files);
  if (!unused.empty()) {
    log_warn("{}: does not use {}", files.root.string(), fmt::join(unused, ", "));
  }
}

// Repositories may lack some of the packages, or their weights: CoreML-LLM's app completes them.
void CoreMlLlmShared::open_prefill(const CoreMlLlmFiles& files) {
  const auto elements = [this](CoreMlLlmInput kind) { return elements_of(kind); };
  const CoreMlLlmPrefill::Heads heads = {elements(CoreMlLlmInput::CosSliding),
                                         elements(CoreMlLlmInput::CosFull)};
  try {
    check_prefill_packages(files);
    prefill.emplace(files, sizes, heads, chunks, elements, pool, options, unused);
  } catch (const Error& error) {
    if (options.prefill == PrefillMode::Batches || !is_of_files(error.code())) throw;
    log_warn("prompts run token by token: {}", error.what());
  }
}

int64_t CoreMlLlmShared::elements_of(CoreMlLlmInput kind) const {
  switch (kind) {
    case CoreMlLlmInput::Hidden:
      return tokens.width();
    case CoreMlLlmInput::LayerRow:
      return layers.width();
    case CoreMlLlmInput::FullMask:
    case CoreMlLlmInput::UpdateMask:
      return sizes.context;
    case CoreMlLlmInput::SlidingMask:
      return sizes.window;
    case CoreMlLlmInput::BatchMask:
    case CoreMlLlmInput::LastMask:
      return 0;
    default:
      return angles_of(kind).width();
  }
}

// A batch takes as long as it does when it is full.
int64_t CoreMlLlmShared::batch(int64_t tokens) const {
  if (!prefill) return 0;
  const int64_t count = std::min({tokens, prefill->tokens(), sizes.window});
  const bool is_faster = options.prefill == PrefillMode::Batches || 2 * count >= prefill->tokens();
  return is_faster && count > 1 ? count : 0;
}

size_t CoreMlLlmShared::take_lane() {
  return lanes_.take([&](size_t count) {
    for (const CoreMlLlmChunk& chunk : chunks) chunk.part->reserve_lanes(count);
  });
}

}  // namespace pippin::runtime
