// The family `encoder`: one package X.mlpackage that embeds or scores texts, several at once.
//
//   function  takes                                    gives
//   main      input_ids int32 (batch, length)          last_hidden_state (batch, length, features),
//             attention_mask int32 (batch, length)     sentence_embedding (batch, n)
//             token_type_ids int32 (batch, length)     or logits (batch, labels)
//             task_type_ids int32 (batch, length)
//             pooling_mask int32 (batch, length)
//
// The mask is 1 for tokens and 0 for padding. Only some models have the last three inputs: types of
// tokens and of tasks, and the tokens to pool (if prompts are excluded). Outputs are fp32 but the
// states. A sparse embedding has a number for each token of the vocabulary. A model with a vector
// for each token gives token_embeddings (batch, length, n) instead. A model whose class has a head
// for each token gives logits (batch, length, labels) next to the states and the embedding, one
// whose class has a pooler its pooler_output (batch, features).
#pragma once

namespace pippin::families::encoder {

inline constexpr const char* kName = "encoder";

inline constexpr const char* kIds = "input_ids";
inline constexpr const char* kMask = "attention_mask";
inline constexpr const char* kTokenTypes = "token_type_ids";
inline constexpr const char* kTaskTypes = "task_type_ids";
inline constexpr const char* kPoolingMask = "pooling_mask";
inline constexpr const char* kStates = "last_hidden_state";
inline constexpr const char* kEmbedding = "sentence_embedding";
inline constexpr const char* kLogits = "logits";
inline constexpr const char* kTokenEmbeddings = "token_embeddings";
inline constexpr const char* kPooler = "pooler_output";

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
// The form of embeddings that are not dense vectors: kSparse, or kOfTokens with the settings of
// models/encoders/late_interaction.h in JSON under kLateKey.
inline constexpr const char* kEmbeddingKey = "pippin.embedding";
inline constexpr const char* kSparse = "sparse";
inline constexpr const char* kActiveKey = "pippin.active";  // most numbers of a sparse one
inline constexpr const char* kOfTokens = "tokens";
inline constexpr const char* kLateKey = "pippin.late_interaction";
// Whether tokens see padding (kSeen): texts of one length alone run together; or are filled up to
// the maximum number of tokens with the tokenizer's padding token, which the mask shows (kFilled).
inline constexpr const char* kPaddingKey = "pippin.padding";
inline constexpr const char* kSeen = "seen";
inline constexpr const char* kFilled = "filled";
// The case of letters that texts get before the tokenizer (kLower).
inline constexpr const char* kCaseKey = "pippin.case";
inline constexpr const char* kLower = "lower";
// The original purpose of a model whose folder does not mention embeddings (kLanguageModel).
inline constexpr const char* kStatesOfKey = "pippin.states_of";
inline constexpr const char* kLanguageModel = "language model";
inline constexpr const char* kSigmoid = "sigmoid";
inline constexpr const char* kIdentity = "identity";

}  // namespace pippin::families::encoder
