// SentencePiece's tokenizer.model: a protobuf message of which few fields matter here.
//
//   ModelProto: pieces 1 {piece 1, score 2, type 3}, trainer_spec 2, normalizer_spec 3
//   TrainerSpec: model_type 3, byte_fallback 35, unk_id 40, bos_id 41, eos_id 42
//   NormalizerSpec: precompiled_charsmap 2, add_dummy_prefix 3, remove_extra_whitespaces 4,
//                   escape_whitespaces 5
//
// Control and user-defined pieces are found in the text, as added tokens are; the file itself adds
// none. So the settings next to it decide: add_bos_token and add_eos_token, else the class, else
// BPE models begin with <s> and Unigram models end with </s>, as their best known users do.
//
// As Hugging Face's conversion, models like Llama's (by the class, or BPE with byte fallback where
// no class is named) keep runs of spaces and every character, whatever the NormalizerSpec says;
// with "legacy": false in the settings a text that begins with a space gets no other before it.
#pragma once

#include <memory>
#include <string_view>

#include "pippin/tokenizers/json_file.h"
#include "pippin/tokenizers/legacy_files.h"
#include "pippin/tokenizers/normalizers.h"

namespace pippin::tokenizers {

// Throws InvalidFile, Unsupported (word and character models), LimitExceeded.
JsonFile read_sentencepiece(std::string_view bytes, const TokenizerSettings& settings,
                            std::string_view name);

// Each place of the text takes the longest entry of the charsmap; runs of spaces become one, those
// at the ends go; spaces become U+2581, one of which is put before the whole text.
std::unique_ptr<Normalizer> make_sentencepiece_normalizer(const SentencePieceRules& rules,
                                                          std::string_view name);

}  // namespace pippin::tokenizers
