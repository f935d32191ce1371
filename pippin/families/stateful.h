// The family `stateful`: one package X.mlpackage, as Hugging Face's exporters make it.
//
//   function           takes                                     gives     keeps
//   main, prefill      inputIds int32 (1, q)                     logits    keyCache, valueCache
//   NAME, prefill_NAME causalMask float (1, 1, q, end)                     and what kCarriedStatesKey
//                                                                          names
//
// q new tokens after end - q others; `prefill` takes a fixed number; NAME is an adapter's.
#pragma once

#include <cstdint>
#include <string>

namespace pippin::families::stateful {

inline constexpr const char* kName = "stateful";

inline constexpr const char* kIds = "inputIds";
inline constexpr const char* kMask = "causalMask";
inline constexpr const char* kLogits = "logits";
// Of models that are recorded for checks: what leaves the embedding (0), each layer, the last norm.
inline constexpr const char* kHiddenPrefix = "hidden_states_";
inline std::string hidden(int64_t number) {
  return kHiddenPrefix + std::to_string(number);
}

// (layers, 1, key-value heads, context, features of a head)
inline constexpr const char* kKeys = "keyCache";
inline constexpr const char* kValues = "valueCache";

inline constexpr const char* kPrefill = "prefill";
inline std::string prefill_of(const std::string& adapter) {
  return std::string(kPrefill) + "_" + adapter;
}

// User-defined metadata. The adapters, with commas between their names.
inline constexpr const char* kAdaptersKey = "pippin.adapters";
// Of models whose positions depend on the sequence's length once that passes a number of tokens:
// "longrope 4096" (other frequencies from then on), "dynamic 2048" (other ones for every length).
// A prompt that passes it has to be fed accordingly.
inline constexpr const char* kLengthDependentKey = "pippin.length_dependent";
inline constexpr const char* kDynamic = "dynamic";
inline constexpr const char* kLongRope = "longrope";
// Of models that carry states of a fixed size from one run to the next (a convolution's last
// columns): their names, with commas between them. Such a sequence cannot go back to fewer tokens,
// and no token may be fed twice.
inline constexpr const char* kCarriedStatesKey = "pippin.carried_states";
// Of models with experts: how many tokens of a prompt one run should take, where that is more than
// others need for speed. Each expert's matrices meet only the rows that chose it.
inline constexpr const char* kPromptRunKey = "pippin.prompt_run";

}  // namespace pippin::families::stateful
