#include "pippin/tokenizers/unicode/case_folds.h"

#include <algorithm>
#include <array>
#include <map>

#include <utf8proc.h>

namespace pippin::tokenizers {
namespace {

std::u32string folded(char32_t c) {
  constexpr size_t kMost = 4;
  std::array<utf8proc_int32_t, kMost> parts{};
  int boundary = 0;
  const auto count = utf8proc_decompose_char(static_cast<utf8proc_int32_t>(c), parts.data(), kMost,
                                             UTF8PROC_CASEFOLD, &boundary);
  std::u32string text;
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    text += static_cast<char32_t>(parts[static_cast<size_t>(i)]);
  }
  return text;
}

struct Folds {
  std::map<std::u32string, std::vector<char32_t>> alike;  // only entries with several characters
  std::vector<LongFold> long_folds;
};

const Folds& folds() {
  static const Folds instance = [] {
    constexpr char32_t kPlanesWithCase = 0x20000;
    std::map<std::u32string, std::vector<char32_t>> changed;
    for (char32_t c = 0; c < kPlanesWithCase; ++c) {
      if (c >= 0xD800 && c <= 0xDFFF) continue;
      std::u32string fold = folded(c);
      if (fold != std::u32string_view(&c, 1)) changed[std::move(fold)].push_back(c);
    }
    Folds result;
    for (auto& [fold, characters] : changed) {
      if (fold.size() > 1) {
        result.long_folds.push_back({fold, characters});
      } else {
        characters.push_back(fold[0]);  // the folded character itself
      }
      std::sort(characters.begin(), characters.end());
    }
    result.alike = std::move(changed);
    return result;
  }();
  return instance;
}

}  // namespace

CodePoints closed_under_case(const CodePoints& set) {
  CodePoints more;
  for (const auto& [fold, characters] : folds().alike) {
    const bool any = std::any_of(characters.begin(), characters.end(),
                                 [&](char32_t c) { return contains(set, c); });
    if (!any) continue;
    for (const char32_t c : characters) more.push_back({c, c});
  }
  return united(set, sorted(std::move(more)));
}

const std::vector<LongFold>& long_folds() {
  return folds().long_folds;
}

const LongFold* long_fold_of(char32_t c) {
  for (const auto& fold : long_folds()) {
    if (std::binary_search(fold.characters.begin(), fold.characters.end(), c)) return &fold;
  }
  return nullptr;
}

const LongFold* long_fold_at(std::u32string_view text) {
  std::u32string start;
  for (size_t i = 0; i < std::min<size_t>(text.size(), 3); ++i) {
    const std::u32string fold = folded(text[i]);
    if (fold.size() != 1) break;  // handled as a separate alternative
    start += fold;
  }
  const LongFold* best = nullptr;
  for (const auto& fold : long_folds()) {
    const auto& sequence = fold.sequence;
    if (!start.starts_with(sequence)) continue;
    if (best == nullptr || sequence.size() > best->sequence.size()) best = &fold;
  }
  return best;
}

}  // namespace pippin::tokenizers
