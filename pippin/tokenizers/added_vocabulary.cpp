#include "pippin/tokenizers/added_vocabulary.h"

#include <algorithm>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/tokenizers/unicode/unicode.h"

namespace pippin::tokenizers {
namespace {

constexpr size_t kMaxTokenBytes = 2 << 10;  // a search may read this many bytes at every position

bool word_ends_at(std::string_view text, size_t position) {
  if (position == 0) return false;
  size_t at = previous_character(text, position);
  return is_word(decode_utf8(text, at));
}

bool word_begins_at(std::string_view text, size_t position) {
  return position < text.size() && is_word(decode_utf8(text, position));
}

// Returns where the spaces before `position` begin, at `least` or after.
size_t spaces_before(std::string_view text, size_t position, size_t least) {
  while (position > least) {
    const size_t before = previous_character(text, position);
    size_t at = before;
    if (!is_whitespace(decode_utf8(text, at))) break;
    position = before;
  }
  return position;
}

size_t spaces_after(std::string_view text, size_t position) {
  while (position < text.size()) {
    size_t next = position;
    if (!is_whitespace(decode_utf8(text, next))) break;
    position = next;
  }
  return position;
}

}  // namespace

void Trie::add(std::string_view text, int32_t value) {
  uint32_t at = 0;
  for (const char c : text) {
    auto& children = nodes_[at].children;
    const auto place = std::lower_bound(children.begin(), children.end(), std::pair(c, 0u));
    if (place != children.end() && place->first == c) {
      at = place->second;
      continue;
    }
    const auto fresh = static_cast<uint32_t>(nodes_.size());
    children.insert(place, {c, fresh});
    nodes_.emplace_back();
    at = fresh;
  }
  if (at != 0 && nodes_[at].value < 0) nodes_[at].value = value;
}

Trie::Found Trie::longest_at(std::string_view text, size_t position) const {
  Found found;
  uint32_t at = 0;
  for (size_t i = position; i < text.size(); ++i) {
    const auto& children = nodes_[at].children;
    const auto next = std::lower_bound(children.begin(), children.end(), std::pair(text[i], 0u));
    if (next == children.end() || next->first != text[i]) break;
    at = next->second;
    if (nodes_[at].value >= 0) found = {nodes_[at].value, i + 1};
  }
  return found;
}

AddedVocabulary::AddedVocabulary(const std::optional<Json>& config, const Model& model,
                                 const Normalizer* normalizer) {
  if (!config) return;
  int32_t next_id = model.size();
  for (const auto& entry : config->elements()) {
    AddedToken token{entry.get_string("content"),
                     entry.get_bool("single_word"),
                     entry.get_bool("lstrip"),
                     entry.get_bool("rstrip"),
                     entry.get_bool("normalized"),
                     entry.get_bool("special"),
                     {}};
    integer(entry.at("id"), 0, UINT32_MAX);
    if (token.content.size() > kMaxTokenBytes) {
      fail(ErrorCode::LimitExceeded, "{}: {} bytes, at most {} are read", entry.where(),
           token.content.size(), kMaxTokenBytes);
    }
    add(std::move(token), model, normalizer, next_id);
  }
  for (const auto& [id, token] : by_id_) {
    if (token.normalized) {
      normalized_.add(token.normalized_content, id);
    } else {
      plain_.add(token.content, id);
    }
  }
}

void AddedVocabulary::add(AddedToken token, const Model& model, const Normalizer* normalizer,
                          int32_t& next_id) {
  if (token.content.empty()) return;
  int32_t id = -1;
  if (const auto known = token_to_id(token.content)) {
    id = *known;
  } else if (const auto in_model = model.token_to_id(token.content)) {
    id = *in_model;
  } else {
    id = next_id++;
  }
  if (id > kMaxTokenId) fail(ErrorCode::LimitExceeded, "a tokenizer with too many added tokens");
  token.normalized_content = token.content;
  if (token.normalized && normalizer != nullptr) {
    Piece piece = piece_to_normalize(token.content, true);
    normalizer->normalize(piece);
    token.normalized_content = std::move(piece.text);
  }
  ids_[token.content] = id;
  if (token.special) special_.insert(token.content);
  by_id_[id] = std::move(token);
}

Pieces AddedVocabulary::extract(std::string_view text, const Normalizer* normalizer) const {
  Pieces first;
  cut({std::string(text), -1, true}, plain_, first);
  Pieces result;
  for (auto& piece : first) {
    if (piece.token >= 0) {
      result.push_back(std::move(piece));
      continue;
    }
    if (normalizer != nullptr) {
      piece = piece_to_normalize(std::move(piece.text), piece.at_start);
      normalizer->normalize(piece);
    }
    cut(piece, normalized_, result);
  }
  return result;
}

// Finds the leftmost match, and the longest at that position. A match that its flags reject still
// consumes its text.
void AddedVocabulary::cut(const Piece& piece, const Trie& trie, Pieces& pieces) const {
  const std::string_view text = piece.text;
  const auto push = [&](size_t begin, size_t end, int32_t id) {
    if (begin >= end) return;
    pieces.push_back(
        {std::string(text.substr(begin, end - begin)), id, piece.at_start && begin == 0});
  };
  constexpr size_t kCheck = 1 << 16;  // bytes between two polls
  size_t done = 0, next_check = kCheck;
  for (size_t i = 0; i < text.size();) {
    if (i >= next_check) {
      check_cancel();
      next_check = i + kCheck;
    }
    const Trie::Found match = trie.longest_at(text, i);
    if (match.value < 0) {
      ++i;
      continue;
    }
    size_t begin = i, end = match.end;
    i = match.end;
    const AddedToken& token = by_id_.at(match.value);
    if (token.single_word && (word_ends_at(text, begin) || word_begins_at(text, end))) continue;
    if (token.lstrip) begin = spaces_before(text, begin, done);
    if (token.rstrip) end = spaces_after(text, end);
    push(done, begin, -1);
    push(begin, end, match.value);
    done = end;
  }
  push(done, text.size(), -1);
}

const AddedToken* AddedVocabulary::find(int32_t id) const {
  if (by_id_.empty() || id < by_id_.begin()->first || id > by_id_.rbegin()->first) return nullptr;
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &found->second;
}

std::optional<int32_t> AddedVocabulary::token_to_id(std::string_view token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace pippin::tokenizers
