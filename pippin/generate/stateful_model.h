// The `stateful` family: one package whose KV cache is Core ML state (Hugging Face's Mistral form).
//
//   inputs  token ids, int32 (1, q); causal mask, fp16 (1, 1, q, end), 0 or -inf
//   states  any number (keyCache, valueCache), zero at the start
//   output  logits, fp16 or fp32 (1, q, vocabulary)
//
// A run writes the cache slots [end - q, end) and attends to [0, end), so the length of the mask
// says where in the sequence the tokens are. q may be a range, some numbers or one number; a
// second function may take other numbers (a prompt's). Where no run takes as few tokens as there
// are, tokens that were fed before are fed again with them, or padding follows that nobody sees.
// Everything is bound by the declared schema: types and ranges decide, and a model that does not
// fit is refused with the name of what does not.
//
// Packages without states (ids padded to a fixed length, or of any length, and no cache) compute
// the whole sequence for every token.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "pippin/base/thread_pool.h"
#include "pippin/engine/compute_options.h"
#include "pippin/generate/language_model.h"
#include "pippin/generate/step_schema.h"
#include "pippin/mil/package.h"

namespace pippin::generate {

// The steps of a package of this family: one or two functions.
struct StatefulSchema {
  std::vector<StepSchema> steps;  // the one with the smallest query first
  int64_t context = 0;            // the largest end, or the largest query without a cache
  bool has_cache = true;
};

// Throws Unsupported for what is not of this family.
StatefulSchema stateful_schema(const std::vector<const mil::FunctionDescription*>& functions);

struct StatefulOptions {
  int64_t context = 0;          // at most the model's; 0: the model's
  int64_t prefill_chunk = 256;  // tokens per run over a prompt, where the model has a choice
  std::string adapter = {};     // whose functions to use; empty: the model's own
  engine::ComputeOptions compute = {};
};

// `model` and `pool` must outlive the result. Throws Unsupported, NotFound (the adapter).
std::unique_ptr<LanguageModel> make_stateful_model(const mil::Model& model, ThreadPool& pool,
                                                   const StatefulOptions& options = {});

}  // namespace pippin::generate
