// The family `stateful`: one package X.mlpackage, in the format of Hugging Face's exporters.
//
//   function           takes                                     gives     keeps
//   main, prefill      inputIds int32 (1, q)                     logits    keyCache, valueCache
//   NAME, prefill_NAME causalMask float (1, 1, q, end)                     and what kCarriedStatesKey
//                                                                          names
//
// A function takes q new tokens after end - q others; `prefill` takes a fixed number; NAME is an
// adapter's name.
//
// Models that read pictures have a further function, which shares weights and states. It serves the
// passes over rows of embeddings and, if positions have three coordinates, all passes after them:
//
//   rows, rows_NAME    inputIds    int32 (1, q)       0 where a row takes the place of a token
//                      inputRows   float (1, q, width)   zeros elsewhere
//                      areRows     float (1, q, 1)    1 for rows, 0 for tokens
//                      causalMask  float (1, 1, q, end)
//                      positionIds int32 (3, q)       frame, row, column; if the model has them
//                      runStarts   int32 (q)          if rows see each other and layers have
//                                                     windows: the first slot that a window may not
//                                                     hide
//
// Models with a multi-token prediction layer have a further function, which shares the weights of
// the embedding and the head. It predicts the tokens after the next one, as drafts:
//
//   mtp, mtp_NAME      inputIds        int32 (1, q)
//                      previousStates  float (1, q, width): of the tokens before these
//                      causalMask      float (1, 1, q, end); slot 0 should be hidden from later
//                                      tokens, since no token is before the first one
//
// It gives logits and hiddenStates, and keeps mtp_keyCache and mtp_valueCache, which have a slot
// for each token. previousStates are the hiddenStates of `main`, what its head reads, float (1, q,
// width); where `main` has not computed a token yet, those of this function.
#pragma once

#include <cstdint>
#include <string>

namespace pippin::families::stateful {

inline constexpr const char* kName = "stateful";

inline constexpr const char* kIds = "inputIds";
inline constexpr const char* kMask = "causalMask";
inline constexpr const char* kLogits = "logits";
// For models recorded for checks: the outputs of the embedding (0), each layer, and the last norm.
inline constexpr const char* kHiddenPrefix = "hidden_states_";
inline std::string hidden(int64_t number) {
  return kHiddenPrefix + std::to_string(number);
}

// (layers, 1, key-value heads, context, features per head). Layers with other head sizes than the
// first: keyCache2 and valueCache2, and so on.
inline constexpr const char* kKeys = "keyCache";
inline constexpr const char* kValues = "valueCache";
// Of models that choose keys by others: (layers, 1, 1, context, features of an index), numbered as
// those are.
inline constexpr const char* kIndex = "indexCache";

inline constexpr const char* kPrefill = "prefill";
inline std::string prefill_of(const std::string& adapter) {
  return std::string(kPrefill) + "_" + adapter;
}

inline constexpr const char* kRows = "rows";
inline std::string rows_of(const std::string& adapter) {
  return std::string(kRows) + "_" + adapter;
}
inline constexpr const char* kInputRows = "inputRows";
inline constexpr const char* kAreRows = "areRows";
inline constexpr const char* kCoordinates = "positionIds";
inline constexpr const char* kRunStarts = "runStarts";
// User-defined metadata of models with rows that see later tokens: kSightRuns, the other rows of
// their run; kSightPrompt, all tokens of the prompt, as all its tokens do.
inline constexpr const char* kRowSightKey = "pippin.row_sight";
inline constexpr const char* kSightRuns = "runs";
inline constexpr const char* kSightPrompt = "prompt";
// The id that processors write into a prompt for each row of a picture.
inline constexpr const char* kRowPlaceholderKey = "pippin.row_placeholder";

inline constexpr const char* kPredict = "mtp";
inline std::string predict_of(const std::string& adapter) {
  return std::string(kPredict) + "_" + adapter;
}
inline constexpr const char* kPreviousStates = "previousStates";
inline constexpr const char* kHiddenStates = "hiddenStates";
inline constexpr const char* kPredictStates = "mtp_";  // the prefix of its states' names

// Of models that are opened with adapters that each run chooses from: float (adapters), what each
// adapter's change is multiplied by. Packages do not have it.
inline constexpr const char* kAdapterNumbers = "adapterNumbers";

// User-defined metadata: the adapters' names, separated by commas.
inline constexpr const char* kAdaptersKey = "pippin.adapters";
// For models whose positions depend on the sequence's length once it exceeds a number of tokens:
// "longrope 4096" (other frequencies from then on), "dynamic 2048" (other frequencies for every
// length). A prompt that exceeds it must be fed accordingly.
inline constexpr const char* kLengthDependentKey = "pippin.length_dependent";
inline constexpr const char* kDynamic = "dynamic";
inline constexpr const char* kLongRope = "longrope";
// For models that carry states of a fixed size from one run to the next (a convolution's last
// columns): their names, separated by commas. Such a sequence cannot be truncated, and no token may
// be fed twice.
inline constexpr const char* kCarriedStatesKey = "pippin.carried_states";
// For models with experts: the number of prompt tokens that one run should take, if it is more than
// others need for speed. Each expert's matrices process only the rows that chose it.
inline constexpr const char* kPromptRunKey = "pippin.prompt_run";

}  // namespace pippin::families::stateful
