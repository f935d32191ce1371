#include "pippin/runtime/coreml_llm/model.h"

#include <string_view>
#include <utility>

#include "pippin/families/coreml_llm.h"
#include "pippin/io/digest.h"
#include "pippin/runtime/coreml_llm/sequence.h"
#include "pippin/runtime/coreml_llm/shared.h"

namespace pippin::runtime {
namespace {

class CoreMlLlmModel final : public Model {
 public:
  explicit CoreMlLlmModel(std::unique_ptr<CoreMlLlmShared> shared) : shared_(std::move(shared)) {
    tell({.context = shared_->context,
          .vocab_size = shared_->sizes.vocabulary,
          .capabilities = {.fork = true, .many_sequences = true, .greedy_only = true},
          .rows = RowForm{.width = shared_->sizes.hidden}});
  }

 protected:
  std::unique_ptr<Sequence> make_sequence() override {
    return std::make_unique<CoreMlLlmSequence>(shared_from_this(), *shared_);
  }
  void add_to(Digest& digest) override {
    digest.update(as_byte_span(std::string_view(families::coreml_llm::kName)));
    for (const CoreMlLlmChunk& chunk : shared_->chunks) chunk.part->add_to(digest);
    if (shared_->prefill) {
      for (const CoreMlLlmChunk& chunk : shared_->prefill->chunks()) chunk.part->add_to(digest);
    }
    shared_->tokens.add_to(digest);
    shared_->layers.add_to(digest);
    for (const AngleTable& table : shared_->angles) table.add_to(digest);
  }
  uint64_t count_saved_bytes() const override {
    uint64_t bytes = 0;
    for (const CoreMlLlmChunk& chunk : shared_->chunks) {
      bytes += chunk.part->execution().plan().saved_bytes();
    }
    return bytes;
  }

 private:
  const std::unique_ptr<CoreMlLlmShared> shared_;
};

}  // namespace

std::shared_ptr<Model> make_coreml_llm_model(PackageFolder folder, const CoreMlLlmFiles& files,
                                             ThreadPool& pool, const LoadOptions& options) {
  return std::make_shared<CoreMlLlmModel>(
      std::make_unique<CoreMlLlmShared>(std::move(folder), files, pool, options));
}

}  // namespace pippin::runtime
