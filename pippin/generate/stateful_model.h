// The `stateful` family: one package whose KV cache is Core ML state (Hugging Face's Mistral form).
//
// inputs  token ids, int32 (1, q); causal mask, fp16 (1, 1, q, end), 0 or -inf
// states  any number (keyCache, valueCache), zero at the start
// output  logits, fp16 or fp32 (1, q, vocabulary)
//
// A run writes the cache slots [end - q, end) and attends to [0, end), so the length of the mask
// says where in the sequence the tokens are. Everything is bound by the declared schema: names,
// types and ranges decide, and a model that does not fit is refused with the name of what does not.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pippin/base/thread_pool.h"
#include "pippin/generate/language_model.h"
#include "pippin/mil/package.h"

namespace pippin::generate {

struct StatefulSchema {
  std::string ids, mask, logits;
  mil::SizeRange query;  // tokens per run
  int64_t context = 0;   // the largest end
};

// Throws Unsupported for what is not of this family.
StatefulSchema stateful_schema(const mil::FunctionDescription& function);

// Row i of `query` rows sees columns [0, past + i] of past + query: 0 there, -inf after.
void fill_causal_mask(std::span<float> mask, int64_t query, int64_t past);

struct StatefulOptions {
  int64_t context = 0;          // at most the model's; 0: the model's
  int64_t prefill_chunk = 256;  // tokens per run over a prompt, at most what the model declares
};

// `model` and `pool` must outlive the result.
std::unique_ptr<LanguageModel> make_stateful_model(const mil::Model& model, ThreadPool& pool,
                                                   const StatefulOptions& options = {});

}  // namespace pippin::generate
