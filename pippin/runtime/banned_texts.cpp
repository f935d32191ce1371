#include "pippin/runtime/banned_texts.h"

#include <cmath>
#include <string_view>

namespace pippin::runtime {
namespace {

std::vector<size_t> shorter_begins(std::string_view text) {
  std::vector<size_t> shorter(text.size() + 1);
  for (size_t i = 1, known = 0; i < text.size(); ++i) {
    while (known > 0 && text[i] != text[known]) known = shorter[known];
    if (text[i] == text[known]) ++known;
    shorter[i + 1] = known;
  }
  return shorter;
}

}  // namespace

BannedTexts::BannedTexts(const std::vector<std::string>& texts,
                         std::shared_ptr<const constrain::Vocabulary> vocabulary)
    : vocabulary_(std::move(vocabulary)), begun_(texts.size()) {
  auto known = std::make_shared<std::vector<Text>>();
  for (const std::string& bytes : texts) {
    Text text{bytes, shorter_begins(bytes), {}, std::vector<std::vector<int32_t>>(bytes.size())};
    for (int32_t id = 0; static_cast<size_t>(id) < vocabulary_->size(); ++id) {
      const std::string_view token = vocabulary_->bytes(id);
      if (token.find(bytes) != std::string_view::npos) text.within.push_back(id);
      for (size_t begun = 1; begun < bytes.size(); ++begun) {
        const std::string_view rest = std::string_view(bytes).substr(begun);
        if (token.starts_with(rest)) text.rest[begun].push_back(id);
      }
    }
    known->push_back(std::move(text));
  }
  texts_ = std::move(known);
}

void BannedTexts::process(const SamplingContext& /*context*/, Candidates& candidates) {
  const auto forbid = [&](const std::vector<int32_t>& ids) {
    for (const int32_t id : ids) {
      const size_t place = candidates.find(id);
      if (place < candidates.size()) candidates.set_score(place, -double{INFINITY});
    }
  };
  for (size_t i = 0; i < begun_.size(); ++i) {
    const Text& text = (*texts_)[i];
    forbid(text.within);
    for (size_t begun = begun_[i]; begun > 0; begun = text.shorter[begun]) forbid(text.rest[begun]);
  }
}

void BannedTexts::accept(int32_t id, Candidates& /*candidates*/) {
  if (static_cast<size_t>(id) >= vocabulary_->size()) return;
  for (size_t i = 0; i < begun_.size(); ++i) {
    const Text& text = (*texts_)[i];
    for (const char c : vocabulary_->bytes(id)) {
      size_t& begun = begun_[i];
      if (begun == text.bytes.size()) begun = text.shorter[begun];
      while (begun > 0 && c != text.bytes[begun]) begun = text.shorter[begun];
      if (c == text.bytes[begun]) ++begun;
    }
  }
}

std::unique_ptr<LogitsProcessor> BannedTexts::clone() const {
  return std::make_unique<BannedTexts>(*this);
}

}  // namespace pippin::runtime
