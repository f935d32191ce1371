#include "pippin/runtime/windowed/model.h"

#include <utility>

#include "pippin/families/windowed.h"
#include "pippin/io/digest.h"
#include "pippin/runtime/windowed/sequence.h"
#include "pippin/runtime/windowed/shared.h"

namespace pippin::runtime {
namespace {

class WindowedModel final : public Model {
 public:
  explicit WindowedModel(std::unique_ptr<WindowedShared> shared) : shared_(std::move(shared)) {
    tell({.context = shared_->context,
          .vocab_size = shared_->vocab_size,
          .capabilities = {.truncate = true,
                           .fork = true,
                           .save = true,
                           .many_sequences = true,
                           .shares_passes = !shared_->options.low_memory,
                           .sliding_window = shared_->options.slide}});
  }

 protected:
  std::unique_ptr<Sequence> make_sequence() override {
    return std::make_unique<WindowedSequence>(shared_from_this(), *shared_);
  }
  void feed_together(std::span<Sequence* const> sequences) override {
    if (!capabilities().shares_passes) return Model::feed_together(sequences);
    WindowedSequence::feed_together(*shared_, sequences);
  }
  void add_to(Digest& digest) override {
    digest.update(as_byte_span(std::string_view(families::windowed::kName)));
    for (const auto& chunk : shared_->chunks) chunk->add_to(digest);
    shared_->processor->add_to(digest);
  }
  uint64_t count_saved_bytes() const override {
    uint64_t bytes = 0;
    for (const auto& chunk : shared_->chunks) {
      if (chunk->is_ready()) bytes += chunk->execution().plan().saved_bytes();
    }
    return bytes;
  }

 private:
  const std::unique_ptr<WindowedShared> shared_;
};

}  // namespace

std::shared_ptr<Model> make_windowed_model(PackageFolder folder, const WindowedFiles& files,
                                           ThreadPool& pool, const LoadOptions& options) {
  return std::make_shared<WindowedModel>(
      std::make_unique<WindowedShared>(std::move(folder), files, pool, options));
}

}  // namespace pippin::runtime
