#include "pippin/app/late_texts.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "pippin/base/error.h"

namespace pippin::app {
namespace {

int32_t id_of(const Tokenizer& tokenizer, const std::string& token) {
  if (const auto id = tokenizer.token_to_id(token)) return *id;
  fail(ErrorCode::InvalidFile, "the tokenizer has no token '{}', which the model's texts need",
       token);
}

}  // namespace

LateTexts::LateTexts(models::LateInteraction settings, const Tokenizer& tokenizer)
    : settings_(std::move(settings)) {
  const auto side_of = [&](const models::LateInteraction::Side& side) {
    Side result{std::nullopt, std::numeric_limits<size_t>::max(), side.skips};
    if (!side.prefix.empty()) result.prefix = id_of(tokenizer, side.prefix);
    if (side.length) result.length = static_cast<size_t>(*side.length);
    return result;
  };
  query_ = side_of(settings_.query);
  document_ = side_of(settings_.document);
  if (settings_.expansion) filler_ = id_of(tokenizer, settings_.expansion->token);
  // Words that are not a token of the vocabulary cannot be skipped.
  for (const std::string& word : settings_.skipped) {
    if (const auto id = tokenizer.token_to_id(word)) skipped_.insert(*id);
  }
}

LateTexts::Prepared LateTexts::prepare(const Tokenizer& tokenizer, std::string_view text,
                                       bool is_query, size_t most) const {
  const Side& side = is_query ? query_ : document_;
  const size_t length = std::min(side.length, most);
  const size_t inserted = side.prefix ? 1 : 0;
  Tokenizer::Texts encoded =
      tokenizer.encode_texts(text, std::nullopt, length > inserted ? length - inserted : 1);
  Prepared result{{std::move(encoded.ids), std::move(encoded.types), 0, 0}, {}, encoded.cut};
  std::vector<int32_t>& ids = result.text.ids;
  std::vector<int32_t>& types = result.text.types;
  if (side.prefix) {
    ids.insert(ids.begin() + (ids.empty() ? 0 : 1), *side.prefix);
    if (!types.empty()) types.insert(types.begin() + 1, 0);
  }
  if (is_query && settings_.expansion) expand(result, most);
  result.counts.reserve(ids.size());
  for (const int32_t id : ids) {
    result.counts.push_back(!side.skips || skipped_.count(id) == 0);
  }
  return result;
}

void LateTexts::expand(Prepared& query, size_t most) const {
  const size_t own = query.text.ids.size();
  const auto wanted = static_cast<size_t>(settings_.expansion->length);
  const size_t length = std::max(own, std::min(wanted, most));
  query.text.ids.resize(length, filler_);
  if (!query.text.types.empty()) query.text.types.resize(length, 0);
  if (!settings_.expansion->attended) query.text.unseen = length - own;
}

}  // namespace pippin::app
