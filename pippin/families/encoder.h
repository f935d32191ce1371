// The family `encoder`: one package X.mlpackage that embeds or scores texts, several at once.
//
//   function  takes                                    gives
//   main      input_ids int32 (batch, length)          last_hidden_state (batch, length, features),
//             attention_mask int32 (batch, length)     sentence_embedding (batch, n)
//             token_type_ids int32 (batch, length)     or logits (batch, labels)
//             pooling_mask int32 (batch, length)
//
// The mask is 1 for tokens and 0 for what fills up a row. The last two inputs are those of models
// that have them: types of tokens, and (where prompts do not count) the tokens that are pooled.
// Embeddings and logits are fp32.
#pragma once

namespace pippin::families::encoder {

inline constexpr const char* kName = "encoder";

inline constexpr const char* kIds = "input_ids";
inline constexpr const char* kMask = "attention_mask";
inline constexpr const char* kTokenTypes = "token_type_ids";
inline constexpr const char* kPoolingMask = "pooling_mask";
inline constexpr const char* kStates = "last_hidden_state";
inline constexpr const char* kEmbedding = "sentence_embedding";
inline constexpr const char* kLogits = "logits";

// User-defined metadata. The most tokens of a text, which longer ones are cut to; how many ids and
// types of tokens there are; what turns a logit into a score (kSigmoid or kIdentity).
inline constexpr const char* kMaxTokensKey = "pippin.max_tokens";
inline constexpr const char* kVocabularyKey = "pippin.vocabulary";
inline constexpr const char* kTypesKey = "pippin.token_types";
inline constexpr const char* kScoreKey = "pippin.score";
// How a text becomes tokens where that is not the tokenizer's way: kPlain without special tokens,
// kKnown without unknown ones either.
inline constexpr const char* kTokensKey = "pippin.tokens";
inline constexpr const char* kPlain = "plain";
inline constexpr const char* kKnown = "known";
// What a model whose folder says nothing of embeddings was made for (kLanguageModel).
inline constexpr const char* kStatesOfKey = "pippin.states_of";
inline constexpr const char* kLanguageModel = "language model";
inline constexpr const char* kSigmoid = "sigmoid";
inline constexpr const char* kIdentity = "identity";

}  // namespace pippin::families::encoder
