// The family `encoder`: one package X.mlpackage that embeds or scores texts, several at once.
//
//   function  takes                                    gives
//   main      input_ids int32 (batch, length)          last_hidden_state (batch, length, features),
//             attention_mask int32 (batch, length)     sentence_embedding (batch, n)
//             token_type_ids int32 (batch, length)     or logits (batch, labels)
//             pooling_mask int32 (batch, length)
//
// The mask is 1 for tokens and 0 for padding. Only some models have the last two inputs: token
// types, and the tokens to pool (if prompts are excluded). Embeddings and logits are fp32.
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

// User-defined metadata: the maximum number of tokens, to which longer texts are cut; the numbers
// of ids and of token types; the function that converts a logit to a score (kSigmoid or kIdentity).
inline constexpr const char* kMaxTokensKey = "pippin.max_tokens";
inline constexpr const char* kVocabularyKey = "pippin.vocabulary";
inline constexpr const char* kTypesKey = "pippin.token_types";
inline constexpr const char* kScoreKey = "pippin.score";
// The tokenization, if it differs from the tokenizer's default: kPlain without special tokens,
// kKnown also without unknown tokens.
inline constexpr const char* kTokensKey = "pippin.tokens";
inline constexpr const char* kPlain = "plain";
inline constexpr const char* kKnown = "known";
// The original purpose of a model whose folder does not mention embeddings (kLanguageModel).
inline constexpr const char* kStatesOfKey = "pippin.states_of";
inline constexpr const char* kLanguageModel = "language model";
inline constexpr const char* kSigmoid = "sigmoid";
inline constexpr const char* kIdentity = "identity";

}  // namespace pippin::families::encoder
