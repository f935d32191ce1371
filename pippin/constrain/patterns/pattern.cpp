#include "pippin/constrain/patterns/pattern.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"
#include "pippin/constrain/patterns/pattern_syntax.h"

namespace pippin::constrain {

namespace {

using PatternKind = PatternNode::Kind;

// The kind of character before a position, which ^ and \b depend on.
enum Before : uint8_t { Start, Word, Other };
constexpr size_t kNumBefore = 3;
// For each of these, the texts from a position on. An expression is processed from its end.
using Rest = std::array<RegexId, kNumBefore>;

class PatternWriter {
 public:
  PatternWriter(RegexPool& pool, Writing writing, std::string_view place)
      : pool_(pool), writing_(writing), place_(place) {}

  RegexId whole(const PatternNode& node) {
    if (is_simple(node)) return simple(node);
    return follow(node, same(RegexPool::kEmpty))[Start];
  }

  RegexId search(const PatternNode& node) {
    const RegexId any = any_text(pool_, writing_);
    if (is_simple(node)) return pool_.concat(std::array{any, simple(node), any});
    const Rest found = follow(node, same(any));
    return any_of_starts(any, found);
  }

 private:
  static Rest same(RegexId id) { return {id, id, id}; }

  static bool is_simple(const PatternNode& node) {
    switch (node.kind) {
      case PatternKind::Set:
        return true;
      case PatternKind::Sequence:
      case PatternKind::Choice:
      case PatternKind::Repeat:
        return ranges::all_of(node.parts, is_simple);
      default:
        return false;
    }
  }

  // For a node without anchors and lookahead.
  RegexId simple(const PatternNode& node) {
    switch (node.kind) {
      case PatternKind::Set:
        return set(node.set);
      case PatternKind::Repeat:
        return pool_.repeat(simple(node.parts[0]), node.least, node.most);
      default:
        break;
    }
    std::vector<RegexId> parts;
    parts.reserve(node.parts.size());
    for (const PatternNode& part : node.parts) parts.push_back(simple(part));
    return node.kind == PatternKind::Choice ? pool_.any_of(parts) : pool_.concat(parts);
  }

  RegexId set(const tokenizers::CodePoints& code_points) {
    std::vector<std::pair<char32_t, char32_t>> key;
    for (const auto& range : code_points) key.emplace_back(range.first, range.last);
    const auto [it, is_new] = sets_.emplace(std::move(key), RegexPool::kNothing);
    if (is_new) it->second = character(pool_, code_points, writing_);
    return it->second;
  }

  RegexId word() { return set({{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}); }

  // The texts from a position on that begin with a word character.
  RegexId begins_with_word() { return pool_.concat(word(), any_text(pool_, writing_)); }

  // `text`, then its continuation, which depends on the last character of `text`.
  Rest join(RegexId text, const Rest& rest) {
    if (rest[Start] == rest[Word] && rest[Word] == rest[Other])
      return same(pool_.concat(text, rest[Start]));
    const RegexId any = any_text(pool_, writing_);
    const RegexId ends_in_word = pool_.concat(any, word());
    const RegexId some = pool_.all_of(text, pool_.minus(any, RegexPool::kEmpty));
    RegexId moved = RegexPool::kNothing;
    if (rest[Word] == rest[Other]) {
      moved = pool_.concat(some, rest[Word]);
    } else {
      moved = pool_.any_of(pool_.concat(pool_.all_of(some, ends_in_word), rest[Word]),
                           pool_.concat(pool_.minus(some, ends_in_word), rest[Other]));
    }
    if (!pool_.is_nullable(text)) return same(moved);
    Rest result;
    for (size_t before = 0; before < kNumBefore; ++before)
      result[before] = pool_.any_of(moved, rest[before]);
    return result;
  }

  RegexId any_of_starts(RegexId any, const Rest& found) { return join(any, found)[Start]; }

  Rest follow(const PatternNode& node, const Rest& rest) {
    if (is_simple(node)) return join(simple(node), rest);
    switch (node.kind) {
      case PatternKind::Sequence: {
        Rest result = rest;
        for (size_t i = node.parts.size(); i-- > 0;) result = follow(node.parts[i], result);
        return result;
      }
      case PatternKind::Choice: {
        std::array<std::vector<RegexId>, kNumBefore> alternatives;
        for (const PatternNode& part : node.parts) {
          const Rest one = follow(part, rest);
          for (size_t before = 0; before < kNumBefore; ++before)
            alternatives[before].push_back(one[before]);
        }
        Rest result;
        for (size_t before = 0; before < kNumBefore; ++before)
          result[before] = pool_.any_of(alternatives[before]);
        return result;
      }
      case PatternKind::Repeat:
        return repeat(node, rest);
      case PatternKind::Begin:
        return {rest[Start], RegexPool::kNothing, RegexPool::kNothing};
      case PatternKind::End:
        return each(rest, [&](RegexId id, size_t) { return pool_.all_of(id, RegexPool::kEmpty); });
      case PatternKind::WordBoundary:
      case PatternKind::NoWordBoundary: {
        const bool wants_change = node.kind == PatternKind::WordBoundary;
        return each(rest, [&](RegexId id, size_t before) {
          const bool word_follows = (before == Word) != wants_change;
          return word_follows ? pool_.all_of(id, begins_with_word())
                              : pool_.minus(id, begins_with_word());
        });
      }
      case PatternKind::Ahead:
      case PatternKind::NotAhead: {
        const Rest ahead = follow(node.parts[0], same(any_text(pool_, writing_)));
        return each(rest, [&](RegexId id, size_t before) {
          return node.kind == PatternKind::Ahead ? pool_.all_of(id, ahead[before])
                                                 : pool_.minus(id, ahead[before]);
        });
      }
      default:
        return rest;
    }
  }

  template <typename Change>
  Rest each(const Rest& rest, const Change& change) {
    Rest result;
    for (size_t before = 0; before < kNumBefore; ++before)
      result[before] = change(rest[before], before);
    return result;
  }

  // Repeats a node with anchors or lookahead, at most a few times.
  Rest repeat(const PatternNode& node, const Rest& rest) {
    constexpr uint32_t kMostTimes = 16;
    if (node.most > kMostTimes) {
      fail(ErrorCode::Unsupported,
           "{}: in the pattern, ^, $, \\b or lookahead in a part that is repeated more than {} "
           "times is not supported",
           place_, kMostTimes);
    }
    Rest result = rest;
    for (uint32_t i = 0; i < node.most; ++i) {
      const Rest once = follow(node.parts[0], result);
      if (i < node.most - node.least) {
        result =
            each(once, [&](RegexId id, size_t before) { return pool_.any_of(id, rest[before]); });
      } else {
        result = once;
      }
    }
    return result;
  }

  RegexPool& pool_;
  Writing writing_;
  std::string_view place_;
  std::map<std::vector<std::pair<char32_t, char32_t>>, RegexId> sets_;
};

}  // namespace

RegexId search_pattern(RegexPool& pool, std::string_view source, Writing writing,
                       std::string_view place) {
  return PatternWriter(pool, writing, place).search(parse_pattern(source, place));
}

RegexId whole_pattern(RegexPool& pool, std::string_view source, Writing writing,
                      std::string_view place) {
  return PatternWriter(pool, writing, place).whole(parse_pattern(source, place));
}

}  // namespace pippin::constrain
