// A sequence of a bundle of CoreML-LLM: its caches are inputs of the chunks, in its lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "pippin/runtime/coreml_llm/shared.h"
#include "pippin/runtime/sequence.h"

namespace pippin::runtime {

class CoreMlLlmSequence final : public Sequence {
 public:
  CoreMlLlmSequence(std::shared_ptr<Model> model, CoreMlLlmShared& shared);
  ~CoreMlLlmSequence() override;

 protected:
  void feed(const Feeding& feeding) override;
  int64_t give_up(int64_t before) override;
  void forget() override;
  Earliest find_earliest() const override;
  void copy(const Sequence& other) override;

 private:
  void run_token(int32_t id, int64_t position);
  void fill(CoreMlLlmInput kind, int32_t id, int64_t position, std::span<float> target) const;
  void copy_embedding(int32_t id, int64_t position, std::span<float> target) const;
  void run_batch(int64_t count, bool chooses);
  void fill_batch(CoreMlLlmInput kind, int64_t count, std::span<float> target) const;
  void take_row(const CoreMlLlmChunks& chunks, size_t lane, std::span<float> target);

  CoreMlLlmShared& shared_;
  size_t lane_;
};

}  // namespace pippin::runtime
