// Reads SentencePiece's tokenizer.model: a protobuf message, of which few fields matter here.
//
//   ModelProto: pieces 1 {piece 1, score 2, type 3}, trainer_spec 2, normalizer_spec 3
//   TrainerSpec: model_type 3, byte_fallback 35, unk_id 40, bos_id 41, eos_id 42
//   NormalizerSpec: precompiled_charsmap 2, add_dummy_prefix 3, remove_extra_whitespaces 4,
//                   escape_whitespaces 5
//
// Control and user-defined pieces are found in the text, as added tokens are; the file itself adds
// none. So the settings next to the file decide about the ends of texts: add_bos_token and
// add_eos_token, else the class. By default, BPE models begin with <s> and Unigram models end with
// </s>, as their best known users do.
//
// As in Hugging Face's conversion, models like Llama's (by class, or BPE with byte fallback if no
// class is named) keep runs of spaces and every character, regardless of the NormalizerSpec. With
// "legacy": false in the settings, a text that begins with a space gets no additional space.
#pragma once

#include <memory>
#include <string_view>

#include "pippin/tokenizers/files/legacy_files.h"
#include "pippin/tokenizers/normalizers.h"
#include "pippin/tokenizers/tables/json_file.h"

namespace pippin::tokenizers {

// Throws InvalidFile, Unsupported (word and character models), LimitExceeded.
JsonFile read_sentencepiece(std::string_view bytes, const TokenizerSettings& settings,
                            std::string_view name);

// Replaces the longest charsmap entry at each position, collapses runs of spaces, strips spaces at
// the ends, replaces spaces with U+2581 and prepends one to the whole text, as the rules say.
std::unique_ptr<Normalizer> make_sentencepiece_normalizer(const SentencePieceRules& rules,
                                                          std::string_view name);

}  // namespace pippin::tokenizers
