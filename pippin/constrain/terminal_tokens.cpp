#include "pippin/constrain/terminal_tokens.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "pippin/base/numbers/ranges.h"
#include "pippin/constrain/utf8.h"

namespace pippin::constrain {

namespace {

// Longer lists of tokens are stored as a mask.
constexpr size_t kLongList = 512;

}  // namespace

size_t TerminalTokens::bytes() const {
  return sizeof(*this) + more.size() * sizeof(int32_t) + inside.words().size_bytes() +
         behind.bytes();
}

// The result of a walk over a trie, as ranges of its tokens.
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

  const auto each = [&](const TokenTrie& trie, const std::vector<Walk::Range>& ranges,
                        const auto& visit) {
    for (const Walk::Range& range : ranges) {
      regexes_.work().count(range.size);
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

// The states of a walk, numbered, with their transitions: a walk visits the same few states at
// every node.
class TerminalReader::States {
 public:
  static constexpr int32_t kDead = -1;

  States(TerminalReader& reader, bool is_plain) : reader_(reader), is_plain_(is_plain) {}

  struct State {
    RegexId rest;
    bool can_end, is_safe;  // safe: any plain characters may follow
  };
  int32_t add(RegexId rest) {
    if (reader_.regexes_.is_nothing(rest)) return kDead;
    const auto [it, is_new] = numbers_.emplace(rest, static_cast<int32_t>(states_.size()));
    if (is_new) {
      states_.push_back(
          {rest, reader_.regexes_.is_nullable(rest), is_plain_ && reader_.is_safe(rest)});
      next_.emplace_back().fill(kUnknown);
      reader_.regexes_.work().count(16);
    }
    return it->second;
  }
  int32_t step(int32_t state, uint8_t byte) {
    const int32_t known = next_[static_cast<size_t>(state)][byte];
    if (known != kUnknown) return known;
    const int32_t next =
        add(reader_.regexes_.derivative(states_[static_cast<size_t>(state)].rest, byte));
    return next_[static_cast<size_t>(state)][byte] = next;
  }
  const State& operator[](int32_t state) const { return states_[static_cast<size_t>(state)]; }

 private:
  static constexpr int32_t kUnknown = -2;
  TerminalReader& reader_;
  bool is_plain_;
  std::vector<State> states_;
  std::vector<std::array<int32_t, 256>> next_;
  std::unordered_map<RegexId, int32_t> numbers_;
};

void TerminalReader::walk(const TokenTrie& trie, RegexId rest, bool is_plain, Walk& found) {
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  States states(*this, is_plain);
  std::vector<int32_t> path(trie.depth() + 1);  // by depth
  path[0] = states.add(rest);
  std::vector<size_t> ends;  // depths on the current path at which the terminal can end
  for (size_t i = 0; i < nodes.size();) {
    regexes_.work().count();
    const TokenTrie::Node& node = nodes[i];
    while (!ends.empty() && ends.back() >= node.depth) ends.pop_back();
    const int32_t state = states.step(path[node.depth - 1], node.byte);
    if (state == States::kDead) {
      const std::span<const int32_t> below = trie.tokens_below(node);
      regexes_.work().count(ends.size() * below.size());
      for (const size_t end : ends) {
        for (const int32_t token : below) {
          found.behind.push_back({vocabulary_->bytes(token).substr(end), token});
        }
      }
      found.outside.push_back({node.first, below.size()});
      found.num_outside += below.size();
      i = node.end;
      continue;
    }
    if (states[state].is_safe) {
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
    path[node.depth] = state;
    if (states[state].can_end) ends.push_back(node.depth);
    ++i;
  }
}

bool TerminalReader::is_safe(RegexId rest) {
  constexpr size_t kMost = 24;  // limit of states to search
  const auto it = safe_.find(rest);
  if (it != safe_.end()) return it->second;
  // Most unsafe expressions reject one of these.
  for (const char c : std::string_view(" a0~-")) {
    if (regexes_.derivative(rest, static_cast<uint8_t>(c)) == RegexPool::kNothing)
      return safe_[rest] = false;
  }
  std::vector<RegexId> reached{rest};
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const RegexId next : after_plain(reached[i])) {
      if (ranges::contains(reached, next)) continue;
      const auto known = safe_.find(next);
      if (known != safe_.end() && known->second) continue;
      if (reached.size() == kMost || known != safe_.end() || regexes_.is_nothing(next))
        return safe_[rest] = false;
      reached.push_back(next);
    }
  }
  for (const RegexId state : reached) safe_[state] = true;
  return true;
}

std::optional<TerminalReader::PlainRun> TerminalReader::plain_run(RegexId rest) {
  if (is_safe(rest)) return PlainRun{Vocabulary::kLongRun, false};
  PlainRun run{0, regexes_.is_nullable(rest)};
  for (; run.characters < Vocabulary::kLongRun; ++run.characters) {
    const std::vector<RegexId>& next = after_plain(rest);
    if (next.size() != 1) return std::nullopt;
    rest = next[0];
    if (regexes_.is_nothing(rest)) return run;
    run.can_end |= regexes_.is_nullable(rest);
  }
  return run;
}

const std::vector<RegexId>& TerminalReader::after_plain(RegexId rest) {
  if (const auto it = after_plain_.find(rest); it != after_plain_.end()) return it->second;
  std::vector<RegexId> reached;
  const auto add = [&](std::vector<RegexId>& states, RegexId state) {
    if (!ranges::contains(states, state)) states.push_back(state);
  };
  const auto step = [&](const std::vector<RegexId>& from, uint8_t first, uint8_t last) {
    std::vector<RegexId> next;
    for (const RegexId state : from) {
      for (unsigned b = first; b <= last; ++b)
        add(next, regexes_.derivative(state, static_cast<uint8_t>(b)));
    }
    return next;
  };
  for (const Utf8Shape& shape : kUtf8Shapes) {
    if (shape.length == 1) {
      for (unsigned b = 0x20; b <= shape.last; ++b) {
        if (b != '"' && b != '\\') add(reached, regexes_.derivative(rest, static_cast<uint8_t>(b)));
      }
      continue;
    }
    std::vector<RegexId> states =
        step(step({rest}, shape.first, shape.last), shape.second_first, shape.second_last);
    for (size_t i = 2; i < shape.length; ++i) states = step(states, 0x80, 0xBF);
    for (const RegexId state : states) add(reached, state);
  }
  return after_plain_[rest] = std::move(reached);
}

}  // namespace pippin::constrain
