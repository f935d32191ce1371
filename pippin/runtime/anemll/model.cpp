#include "pippin/runtime/anemll/model.h"

#include <algorithm>

#include "pippin/engine/parted_device.h"
#include "pippin/families/anemll.h"
#include "pippin/io/digest.h"
#include "pippin/runtime/anemll/sequence.h"
#include "pippin/runtime/anemll/shared.h"

namespace pippin::runtime {
namespace {

class AnemllModel final : public Model {
 public:
  explicit AnemllModel(std::unique_ptr<AnemllShared> shared) : shared_(std::move(shared)) {
    // The number that ANEMLL's own tools keep: the context less two batches.
    const int64_t batch = std::max<int64_t>(shared_->declared_batch, 1);
    tell({.context = shared_->context,
          .vocab_size = shared_->vocab_size,
          .tokens_after_shift = std::max<int64_t>((shared_->context / batch - 2) * batch, 0),
          .capabilities = {.truncate = true,
                           .checkpoint = shared_->window > 0,
                           .fork = true,
                           .save = true,
                           .many_sequences = true,
                           .shares_passes = true,
                           .greedy_only = shared_->greedy_only}});
  }

 protected:
  std::unique_ptr<Sequence> make_sequence() override {
    return std::make_unique<AnemllSequence>(shared_from_this(), *shared_);
  }
  void feed_together(std::span<Sequence* const> sequences) override {
    AnemllSequence::feed_together(*shared_, sequences);
  }
  void add_to(Digest& digest) override {
    digest.update(as_byte_span(families::anemll::kName + (" " + shared_->options.adapter)));
    for (Part* const part : shared_->parts.all()) part->add_to(digest);
  }
  uint64_t count_saved_bytes() const override {
    uint64_t bytes = 0;
    for (const Part* part : shared_->parts.all()) bytes += part->saved_bytes();
    return bytes;
  }

 private:
  const std::unique_ptr<AnemllShared> shared_;
};

}  // namespace

std::shared_ptr<Model> make_anemll_model(PackageFolder folder, const AnemllFiles& files,
                                         const std::optional<AnemllMeta>& meta, ThreadPool& pool,
                                         const LoadOptions& options) {
  AnemllParts parts;
  const auto open = [&](const std::string& stem, const engine::ComputeOptions& compute) {
    LoadOptions own = options;
    own.compute = compute;
    return std::make_unique<Part>(folder.package(stem), folder.file_name(stem), own, parts.states,
                                  pool);
  };
  const auto open_chunk = [&](const std::string& stem, size_t index) {
    return open(stem, engine::options_of_part(options.compute, index, files.chunks.size()));
  };
  if (!files.embeddings.empty()) {
    parts.embeddings = open(files.embeddings, engine::options_of_end(options.compute, false));
  }
  for (size_t i = 0; i < files.chunks.size(); ++i) {
    parts.chunks.push_back(open_chunk(files.chunks[i], i));
  }
  for (size_t i = 0; i < files.rotated.size(); ++i) {
    const std::string& rotated = files.rotated[i];
    parts.rotated.push_back(rotated.empty() ? nullptr : open_chunk(rotated, i));
  }
  if (!files.lm_head.empty()) {
    parts.head = open(files.lm_head, engine::options_of_end(options.compute, true));
  }
  return std::make_shared<AnemllModel>(
      std::make_unique<AnemllShared>(std::move(folder), std::move(parts), meta, options));
}

std::shared_ptr<Model> make_single_anemll_model(const std::filesystem::path& package,
                                                ThreadPool& pool, const LoadOptions& options) {
  AnemllParts parts;
  parts.chunks.push_back(
      std::make_unique<Part>(package, package.filename().string(), options, parts.states, pool));
  return std::make_shared<AnemllModel>(
      std::make_unique<AnemllShared>(std::nullopt, std::move(parts), std::nullopt, options));
}

}  // namespace pippin::runtime
