#include "pippin/runtime/row_ids.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "pippin/base/error.h"

namespace pippin::runtime {
namespace {

constexpr size_t kDigits = 64, kWordDigits = 8;
constexpr int64_t kLeastRows = 3;  // 93 bits of a digest

using DigestWords = std::array<uint32_t, kDigits / kWordDigits>;

DigestWords words_of(std::string_view digest) {
  DigestWords words{};
  bool fits = digest.size() == kDigits;
  for (size_t i = 0; i < words.size() && fits; ++i) {
    const char* const begin = digest.data() + i * kWordDigits;
    const auto [end, error] = std::from_chars(begin, begin + kWordDigits, words[i], 16);
    fits = error == std::errc() && end == begin + kWordDigits;
  }
  if (fits) return words;
  fail(ErrorCode::InvalidArgument,
       "the digest of rows has {} characters, or others than hexadecimal digits: 64 of these are "
       "needed",
       digest.size());
}

// The first 8 rows have the digest's words; later ones, the same words moved by a constant.
int32_t id_of(const DigestWords& words, int64_t index) {
  const auto place = static_cast<uint64_t>(index);
  const auto round = static_cast<uint32_t>(place / words.size());
  const uint32_t word = words[place % words.size()] + round * 0x9E3779B9U;
  return -1 - static_cast<int32_t>(word & 0x7FFFFFFFU);
}

// The beginning of the adjacent rows before `end`.
int64_t rows_before(std::span<const int32_t> text, int64_t end) {
  while (end > 0 && text[static_cast<size_t>(end - 1)] < 0) --end;
  return end;
}

bool is_within(std::span<const int32_t> text, int64_t end) {
  return end > 0 && end < std::ssize(text) && text[static_cast<size_t>(end - 1)] < 0 &&
         text[static_cast<size_t>(end)] < 0;
}

}  // namespace

int32_t row_id(std::string_view digest, int64_t index) {
  return id_of(words_of(digest), index);
}

std::vector<int32_t> prompt_ids(std::span<const PromptPiece> prompt) {
  std::vector<int32_t> ids;
  for (const PromptPiece& piece : prompt) {
    if (const auto* tokens = std::get_if<std::vector<int32_t>>(&piece)) {
      ids.insert(ids.end(), tokens->begin(), tokens->end());
      continue;
    }
    const EmbeddedRows& rows = *std::get<std::shared_ptr<const EmbeddedRows>>(piece);
    const DigestWords words = words_of(rows.digest);
    for (int64_t i = 0; i < rows.count; ++i) ids.push_back(id_of(words, i));
  }
  return ids;
}

std::vector<std::shared_ptr<const EmbeddedRows>> prompt_rows(std::span<const PromptPiece> prompt) {
  std::vector<std::shared_ptr<const EmbeddedRows>> result;
  for (const PromptPiece& piece : prompt) {
    const auto* const rows = std::get_if<std::shared_ptr<const EmbeddedRows>>(&piece);
    if (rows != nullptr) result.push_back(*rows);
  }
  return result;
}

int64_t reusable(std::span<const int32_t> text, int64_t equal) {
  if (is_within(text, equal)) equal = rows_before(text, equal);
  int64_t rows = 0;  // that end before token i
  for (int64_t i = 0; i <= equal; ++i) {
    if (i < equal && text[static_cast<size_t>(i)] < 0) {
      ++rows;
      continue;
    }
    if (rows > 0 && rows < kLeastRows) return i - rows;
    rows = 0;
  }
  return equal;
}

int64_t with_whole_rows(std::span<const int32_t> text, int64_t count) {
  if (!is_within(text, count)) return count;
  const int64_t begin = rows_before(text, count);
  if (begin > 0) return begin;
  while (count < std::ssize(text) && text[static_cast<size_t>(count)] < 0) ++count;
  return count;
}

}  // namespace pippin::runtime
