// Normalizers that go character by character: what BERT, SentencePiece and its NMT rules do.
#pragma once

#include <memory>

#include "pippin/tokenizers/normalizers.h"

namespace pippin::tokenizers {

std::unique_ptr<Normalizer> make_bert_normalizer(const Config& config);
std::unique_ptr<Normalizer> make_strip_accents(const Config& config);
std::unique_ptr<Normalizer> make_nmt(const Config& config);
std::unique_ptr<Normalizer> make_precompiled(const Config& config);

}  // namespace pippin::tokenizers
