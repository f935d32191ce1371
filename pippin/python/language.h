// Language models as Python has them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "pippin/api/llm.h"
#include "pippin/api/llm_parts.h"

namespace pippin::python {

class PySequence {
 public:
  explicit PySequence(std::unique_ptr<Sequence> sequence) : sequence_(std::move(sequence)) {}

  // The sequence, while no text is being written into it. Throws InvalidArgument otherwise.
  Sequence& idle() const {
    if (is_written_.load(std::memory_order_acquire)) fail_busy();
    return *sequence_;
  }
  int64_t position() const { return sequence_->position(); }
  // For a text: until end(). Throws as idle().
  Sequence& begin() {
    if (is_written_.exchange(true, std::memory_order_acq_rel)) fail_busy();
    return *sequence_;
  }
  void end() { is_written_.store(false, std::memory_order_release); }

 private:
  [[noreturn]] static void fail_busy();

  const std::unique_ptr<Sequence> sequence_;
  std::atomic<bool> is_written_{false};
};

// What it takes to open a model again.
struct LoadArguments {
  std::string path, tokenizer, chat_template, adapter, precision, backend, compute_units;
  int64_t context = 0;
  int num_threads = 0;
  bool low_memory = false, load_cache = true;
};

class PyLanguageModel {
 public:
  PyLanguageModel(LanguageModel model, LoadArguments arguments)
      : model_(std::move(model)), arguments_(std::move(arguments)) {}

  const LanguageModel& model() const { return model_; }
  const LanguageModelParts& parts() const { return LanguageModelParts::of(model_); }
  const LoadArguments& arguments() const { return arguments_; }
  // Drafts by a smaller model, `most` for a pass: whether they pay or not, as mlx-lm has it; -1: as
  // many as pay. Throws InvalidArgument where the vocabularies differ too much.
  std::shared_ptr<runtime::Drafts> drafts_by(const PyLanguageModel& draft, int64_t most) const;

 private:
  const LanguageModel model_;
  const LoadArguments arguments_;
  // The last that were asked for: what they measured of the models is kept.
  mutable std::mutex mutex_;
  mutable std::shared_ptr<runtime::Drafts> drafts_;
  mutable const runtime::Model* drafts_model_ = nullptr;  // kept by drafts_
  mutable int64_t drafts_most_ = 0;
};

}  // namespace pippin::python
