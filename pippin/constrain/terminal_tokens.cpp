#include "pippin/constrain/terminal_tokens.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "pippin/constrain/utf8.h"

namespace pippin::constrain {

namespace {

// More tokens than that are kept as a mask.
constexpr size_t kLongList = 512;

}  // namespace

size_t TerminalTokens::bytes() const {
  return sizeof(*this) + more.size() * sizeof(int32_t) + inside.words().size_bytes() +
         behind.bytes();
}

// What a walk over a trie found, as ranges of its tokens.
struct TerminalReader::Walk {
  struct Range {
    size_t begin, size;
  };
  std::vector<Range> inside, outside;
  size_t num_inside = 0, num_outside = 0;
  std::vector<TokenTrie::Entry> behind;
};

TerminalReader::TerminalReader(RegexPool& regexes, std::shared_ptr<const Vocabulary> vocabulary)
    : regexes_(regexes), vocabulary_(std::move(vocabulary)) {}

const TerminalTokens& TerminalReader::read(RegexId rest) {
  std::shared_ptr<const TerminalTokens>& tokens = known_[rest];
  if (tokens == nullptr) tokens = vocabulary_->find(regexes_.digest(rest));
  if (tokens == nullptr) {
    tokens = find_out(rest);
    vocabulary_->keep(regexes_.digest(rest), tokens, tokens->bytes());
  }
  return *tokens;
}

std::shared_ptr<const TerminalTokens> TerminalReader::find_out(RegexId rest) {
  auto result = std::make_shared<TerminalTokens>();
  const std::optional<PlainRun> run = plain_run(rest);
  const bool is_run = run.has_value() && (run->characters == Vocabulary::kLongRun || !run->can_end);
  Walk plain, others;
  if (is_run) {
    result->plain_characters = run->characters;
  } else {
    walk(vocabulary_->plain(), rest, true, plain);
  }
  walk(vocabulary_->others(), rest, false, others);

  const auto each = [](const TokenTrie& trie, const std::vector<Walk::Range>& ranges,
                       const auto& visit) {
    for (const Walk::Range& range : ranges) {
      for (const int32_t token : trie.tokens().subspan(range.begin, range.size)) visit(token);
    }
  };
  if (plain.num_inside + others.num_inside <= kLongList) {
    const auto add = [&](int32_t token) { result->more.push_back(token); };
    each(vocabulary_->plain(), plain.inside, add);
    each(vocabulary_->others(), others.inside, add);
  } else {
    const bool most = plain.num_inside > plain.num_outside;
    const auto allow = [&](int32_t token) { result->inside.allow(token); };
    result->inside =
        vocabulary_->plain_up_to(most ? Vocabulary::kLongRun : result->plain_characters);
    if (most) {
      each(vocabulary_->plain(), plain.outside,
           [&](int32_t token) { result->inside.forbid(token); });
    } else {
      each(vocabulary_->plain(), plain.inside, allow);
    }
    each(vocabulary_->others(), others.inside, allow);
    result->plain_characters = 0;
  }
  plain.behind.insert(plain.behind.end(), others.behind.begin(), others.behind.end());
  result->behind = TokenTrie(std::move(plain.behind));
  return result;
}

void TerminalReader::walk(const TokenTrie& trie, RegexId rest, bool is_plain, Walk& found) {
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  std::vector<RegexId> states(trie.depth() + 1);
  states[0] = rest;
  std::vector<size_t> ends;  // depths at which the terminal can end, on the way to the node
  for (size_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& node = nodes[i];
    while (!ends.empty() && ends.back() >= node.depth) ends.pop_back();
    const RegexId state = regexes_.derivative(states[node.depth - 1], node.byte);
    if (regexes_.is_nothing(state)) {
      const std::span<const int32_t> below = trie.tokens_below(node);
      for (const size_t end : ends) {
        for (const int32_t token : below)
          found.behind.push_back({vocabulary_->bytes(token).substr(end), token});
      }
      found.outside.push_back({node.first, below.size()});
      found.num_outside += below.size();
      i = node.end;
      continue;
    }
    if (is_plain && is_long_run(state)) {
      const size_t below = trie.tokens_below(node).size();
      found.inside.push_back({node.first, below});
      found.num_inside += below;
      i = node.end;
      continue;
    }
    if (node.num_tokens != 0) {
      found.inside.push_back({node.first, node.num_tokens});
      found.num_inside += node.num_tokens;
    }
    states[node.depth] = state;
    if (regexes_.is_nullable(state)) ends.push_back(node.depth);
    ++i;
  }
}

bool TerminalReader::is_long_run(RegexId rest) {
  // In the middle of a character it is not known which one it will be.
  const std::optional<PlainRun> run = plain_run(rest);
  return run.has_value() && run->characters == Vocabulary::kLongRun;
}

std::optional<TerminalReader::PlainRun> TerminalReader::plain_run(RegexId rest) {
  PlainRun run{0, regexes_.is_nullable(rest)};
  while (run.characters < Vocabulary::kLongRun) {
    const std::optional<RegexId> next = after_plain(rest);
    if (!next.has_value()) return std::nullopt;
    if (*next == RegexPool::kNothing) return run;
    if (*next == rest) run.characters = Vocabulary::kLongRun - 1;
    rest = *next;
    ++run.characters;
    run.can_end |= regexes_.is_nullable(rest);
  }
  return run;
}

std::optional<RegexId> TerminalReader::after_plain(RegexId rest) {
  const auto it = after_plain_.find(rest);
  if (it != after_plain_.end()) return it->second;
  return after_plain_[rest] = find_after_plain(rest);
}

std::optional<RegexId> TerminalReader::find_after_plain(RegexId rest) {
  std::optional<RegexId> target;
  const auto agrees = [&](RegexId state) {
    if (regexes_.is_nothing(state)) state = RegexPool::kNothing;
    if (!target.has_value()) target = state;
    return *target == state;
  };
  const auto step = [&](const std::vector<RegexId>& from, uint8_t first, uint8_t last) {
    std::vector<RegexId> reached;
    for (const RegexId state : from) {
      for (unsigned b = first; b <= last; ++b) {
        const RegexId next = regexes_.derivative(state, static_cast<uint8_t>(b));
        if (std::ranges::find(reached, next) == reached.end()) reached.push_back(next);
      }
    }
    return reached;
  };
  for (const Utf8Shape& shape : kUtf8Shapes) {
    if (shape.length == 1) {
      for (unsigned b = 0x20; b <= shape.last; ++b) {
        if (b == '"' || b == '\\') continue;
        if (!agrees(regexes_.derivative(rest, static_cast<uint8_t>(b)))) return std::nullopt;
      }
      continue;
    }
    std::vector<RegexId> states =
        step(step({rest}, shape.first, shape.last), shape.second_first, shape.second_last);
    for (size_t i = 2; i < shape.length; ++i) states = step(states, 0x80, 0xBF);
    if (!std::ranges::all_of(states, agrees)) return std::nullopt;
  }
  return target;
}

}  // namespace pippin::constrain
