// Normalizers that work on characters: the rules of BERT, SentencePiece and NMT.
#pragma once

#include <memory>

#include "pippin/tokenizers/normalizers.h"

namespace pippin::tokenizers {

std::unique_ptr<Normalizer> make_bert_normalizer(const Json& config);
std::unique_ptr<Normalizer> make_strip_accents(const Json& config);
std::unique_ptr<Normalizer> make_nmt(const Json& config);
std::unique_ptr<Normalizer> make_precompiled(const Json& config);

}  // namespace pippin::tokenizers
