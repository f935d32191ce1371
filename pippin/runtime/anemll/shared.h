// The state that the sequences of an `anemll` model share: its packages, checked against each
// other, and the facts read from them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pippin/runtime/anemll/model.h"
#include "pippin/runtime/package/argmax_head.h"
#include "pippin/runtime/package/part.h"
#include "pippin/runtime/spare_states.h"

namespace pippin::runtime {

// The parts of a model. Without embeddings the first chunk takes ids; without head the last chunk
// returns logits.
struct AnemllParts {
  std::unique_ptr<Part> embeddings, head;
  std::vector<std::unique_ptr<Part>> chunks, rotated;  // rotated: one per chunk, or null
  SharedStates states;

  std::vector<Part*> all() const;
};

struct AnemllShared {
  // Throws InvalidFile for parts that do not fit together, and Unsupported.
  AnemllShared(std::optional<PackageFolder> given_folder, AnemllParts given_parts,
               const std::optional<AnemllMeta>& meta, const LoadOptions& given_options);

  std::optional<PackageFolder> folder;  // keeps the unpacked files
  AnemllParts parts;
  LoadOptions options;
  int64_t context = 0, vocab_size = 0;
  int64_t width = 0;           // of hidden states; 0: the only chunk takes ids
  int64_t window = 0;          // 0: no rotated functions
  int64_t declared_batch = 1;  // the largest batch of prefill
  int64_t batch = 1;           // the largest in use; 1: token by token
  AxisSizes batch_sizes;
  bool rotated_batches = false;
  bool greedy_only = false;
  ArgmaxHead argmax;  // of a greedy-only model
  SpareStates spare_states;
  // Scratch memory of the current feeding.
  std::vector<float> hidden;
  std::vector<int32_t> padded;

 private:
  void check_adapter(const std::string& adapter) const;
  void find_window(const std::optional<AnemllMeta>& meta);
  void decide_batches(const std::optional<AnemllMeta>& meta, PrefillMode mode);
  void find_vocabulary(const std::optional<AnemllMeta>& meta);
  void find_argmax(StepRunner& runner, const Part& head, const std::optional<AnemllMeta>& meta);
};

}  // namespace pippin::runtime
