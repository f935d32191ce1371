// The Python classes of language models.
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

  // The sequence, if no text is being generated with it. Throws InvalidArgument otherwise.
  Sequence& idle() const {
    if (is_written_.load(std::memory_order_acquire)) fail_busy();
    return *sequence_;
  }
  int64_t position() const { return sequence_->position(); }
  // Reserves the sequence for a text until end(). Throws the errors of idle().
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

// The arguments for loading a model again.
struct LoadArguments {
  std::string path, tokenizer, chat_template, adapter, mmproj, precision, backend, compute_units,
      cache_type;
  int64_t context = 0;
  int num_threads = 0;
  bool low_memory = false, load_cache = true;
  std::vector<std::string> lora = {};  // [NAME=]PATH[:SCALE]
};

class PyLanguageModel {
 public:
  PyLanguageModel(LanguageModel model, LoadArguments arguments)
      : model_(std::move(model)), arguments_(std::move(arguments)) {}

  const LanguageModel& model() const { return model_; }
  const LanguageModelParts& parts() const { return LanguageModelParts::of(model_); }
  const LoadArguments& arguments() const { return arguments_; }
  // Drafts from a smaller model, `most` per pass, used always, as in mlx-lm; -1: as many as pay.
  // Throws InvalidArgument if the vocabularies differ too much.
  std::shared_ptr<runtime::Drafts> drafts_by(const PyLanguageModel& draft, int64_t most) const;

 private:
  const LanguageModel model_;
  const LoadArguments arguments_;
  // The most recently used drafts: their measurements of the models are kept.
  mutable std::mutex mutex_;
  mutable std::shared_ptr<runtime::Drafts> drafts_;
  mutable const runtime::Model* drafts_model_ = nullptr;  // owned by drafts_
  mutable int64_t drafts_most_ = 0;
};

}  // namespace pippin::python
