#include "pippin/constrain/regex_pool.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/numbers/ranges.h"

namespace pippin::constrain {

namespace {

constexpr RegexId kUnknown = UINT32_MAX;

uint64_t mixed(uint64_t x) {  // splitmix64's finalizer
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Digests are kept across untrusted grammars, so they must be keyed: a client must not be able to
// construct two expressions with equal digests.
RegexDigest secret() {
  static const RegexDigest words = [] {
    std::random_device device;
    const auto word = [&] { return (uint64_t{device()} << 32) | device(); };
    return RegexDigest{word(), word()};
  }();
  return words;
}

class Digester {
 public:
  explicit Digester(uint64_t kind) : state_(secret()) { add(kind); }
  Digester& add(uint64_t word) {
    state_.low = mixed(state_.low ^ word) + state_.high;
    state_.high = mixed(state_.high + word * 0x9e3779b97f4a7c15);
    return *this;
  }
  Digester& add(const RegexDigest& digest) { return add(digest.low).add(digest.high); }
  RegexDigest get() const { return state_; }

 private:
  RegexDigest state_;
};

}  // namespace

RegexPool::RegexPool(const RegexLimits& limits) : limits_(limits) {
  Node nothing{.kind = Kind::Nothing, .empty = true};
  nothing.digest = Digester(static_cast<uint64_t>(Kind::Nothing)).get();
  make(nothing);
  Node empty{.kind = Kind::Empty, .nullable = true};
  empty.digest = Digester(static_cast<uint64_t>(Kind::Empty)).get();
  make(empty);
  complement(kNothing);
}

bool RegexPool::same(const Node& x, const Node& y) const {
  if (x.kind != y.kind) return false;
  if (x.kind == Kind::Any || x.kind == Kind::All) return ranges::equal(parts(x), parts(y));
  if (x.kind == Kind::Bytes) return sets_[x.a] == sets_[y.a];
  if (x.kind == Kind::Repeat) return x.a == y.a && bounds_[x.b] == bounds_[y.b];
  return x.a == y.a && x.b == y.b;
}

RegexId RegexPool::make(Node node) {
  work_.count();
  const auto [first, last] = by_digest_.equal_range(node.digest.low);
  for (auto it = first; it != last; ++it) {
    if (same(nodes_[it->second], node)) {
      // Drop the data stored for this node: an equal one exists.
      if (node.kind == Kind::Bytes) sets_.pop_back();
      if (node.kind == Kind::Repeat) bounds_.pop_back();
      if (node.kind == Kind::Any || node.kind == Kind::All) lists_.resize(node.a);
      return it->second;
    }
  }
  if (nodes_.size() >= limits_.max_expressions) {
    fail(ErrorCode::LimitExceeded, "a constraint needs more than {} expressions",
         limits_.max_expressions);
  }
  const auto id = static_cast<RegexId>(nodes_.size());
  by_digest_.emplace(node.digest.low, id);
  nodes_.push_back(node);
  tables_.emplace_back();
  return id;
}

RegexId RegexPool::bytes(const ByteSet& set) {
  if (set.is_empty()) return kNothing;
  Digester digester(static_cast<uint64_t>(Kind::Bytes));
  for (const uint64_t word : set.words()) digester.add(word);
  sets_.push_back(set);
  return make({.kind = Kind::Bytes,
               .a = static_cast<uint32_t>(sets_.size() - 1),
               .digest = digester.get()});
}

RegexId RegexPool::literal(std::string_view text) {
  RegexId result = kEmpty;
  for (size_t i = text.size(); i-- > 0;) {
    const auto byte = static_cast<uint8_t>(text[i]);
    result = concat(bytes({byte, byte}), result);
  }
  return result;
}

RegexId RegexPool::concat(RegexId first, RegexId second) {
  if (first == kNothing || second == kNothing) return kNothing;
  if (first == kEmpty) return second;
  if (second == kEmpty) return first;
  // Right-associative: a(b(c)), regardless of how it was built.
  std::vector<RegexId> heads;
  while (nodes_[first].kind == Kind::Concat) {
    heads.push_back(nodes_[first].a);
    first = nodes_[first].b;
  }
  heads.push_back(first);
  for (size_t i = heads.size(); i-- > 0;) {
    const Node& head = nodes_[heads[i]];
    const Node& tail = nodes_[second];
    second = make({.kind = Kind::Concat,
                   .nullable = head.nullable && tail.nullable,
                   .plain = head.plain && tail.plain,
                   .known = head.plain && tail.plain,
                   .a = heads[i],
                   .b = second,
                   .digest = Digester(static_cast<uint64_t>(Kind::Concat))
                                 .add(head.digest)
                                 .add(tail.digest)
                                 .get()});
  }
  return second;
}

RegexId RegexPool::concat(std::span<const RegexId> parts) {
  RegexId result = kEmpty;
  for (size_t i = parts.size(); i-- > 0;) result = concat(parts[i], result);
  return result;
}

RegexId RegexPool::make_list(Kind kind, std::vector<RegexId> parts) {
  if (lists_.size() + parts.size() > limits_.max_parts) {
    fail(ErrorCode::LimitExceeded, "a constraint's expressions have more than {} alternatives",
         limits_.max_parts);
  }
  work_.count(parts.size());
  // The digest does not depend on the order in which the parts were made.
  RegexDigest sum;
  bool nullable = kind == Kind::All, plain = kind == Kind::Any;
  for (const RegexId part : parts) {
    const Node& node = nodes_[part];
    const RegexDigest one = Digester(17).add(node.digest).get();
    sum.low += one.low;
    sum.high += one.high;
    if (kind == Kind::Any) {
      nullable |= node.nullable;
      plain &= node.plain;
    } else {
      nullable &= node.nullable;
    }
  }
  const auto begin = static_cast<uint32_t>(lists_.size());
  lists_.insert(lists_.end(), parts.begin(), parts.end());
  return make({.kind = kind,
               .nullable = nullable,
               .plain = plain,
               .known = plain,
               .a = begin,
               .b = static_cast<uint32_t>(parts.size()),
               .digest = Digester(static_cast<uint64_t>(kind)).add(sum).get()});
}

RegexId RegexPool::any_of(std::span<const RegexId> given) {
  work_.count(given.size());
  std::vector<RegexId> flat;
  ByteSet set;
  for (const RegexId part : given) {
    const Node& node = nodes_[part];
    if (node.kind == Kind::Any) {
      work_.count(node.b);
      for (const RegexId inner : parts(node)) {
        if (nodes_[inner].kind == Kind::Bytes) {
          set = set | sets_[nodes_[inner].a];
        } else {
          flat.push_back(inner);
        }
      }
    } else if (node.kind == Kind::Bytes) {
      set = set | sets_[node.a];
    } else if (part != kNothing) {
      flat.push_back(part);
    }
  }
  if (!set.is_empty()) flat.push_back(bytes(set));
  ranges::sort(flat);
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  if (ranges::binary_search(flat, kAnything)) return kAnything;
  if (flat.size() > 1 && flat.front() == kEmpty &&
      std::any_of(flat.begin() + 1, flat.end(), [&](RegexId id) { return nodes_[id].nullable; })) {
    flat.erase(flat.begin());
  }
  // Of repetitions of the same part, keep the one that includes the others; overlapping counters
  // would pile up otherwise.
  if (flat.size() > 1) {
    const auto is_counter = [&](RegexId id) {
      return nodes_[id].kind == Kind::Repeat && bounds_[nodes_[id].b].first == 0;
    };
    std::unordered_map<RegexId, RegexId> widest;
    for (const RegexId id : flat) {
      if (!is_counter(id)) continue;
      auto [it, is_new] = widest.emplace(nodes_[id].a, id);
      if (!is_new && bounds_[nodes_[it->second].b].second < bounds_[nodes_[id].b].second)
        it->second = id;
    }
    if (!widest.empty()) {
      std::erase_if(flat,
                    [&](RegexId id) { return is_counter(id) && widest.at(nodes_[id].a) != id; });
    }
  }
  if (flat.empty()) return kNothing;
  if (flat.size() == 1) return flat.front();
  return make_list(Kind::Any, std::move(flat));
}

RegexId RegexPool::all_of(std::span<const RegexId> given) {
  work_.count(given.size());
  std::vector<RegexId> flat;
  ByteSet set = ByteSet::all();
  bool has_set = false;
  const auto add = [&](RegexId id) {
    if (nodes_[id].kind == Kind::Bytes) {
      set = set & sets_[nodes_[id].a];
      has_set = true;
    } else if (id != kAnything) {
      flat.push_back(id);
    }
  };
  for (const RegexId part : given) {
    if (part == kNothing) return kNothing;
    if (nodes_[part].kind == Kind::All) {
      work_.count(nodes_[part].b);
      for (const RegexId inner : parts(nodes_[part])) add(inner);
    } else {
      add(part);
    }
  }
  if (has_set) {
    if (set.is_empty()) return kNothing;
    flat.push_back(bytes(set));
  }
  ranges::sort(flat);
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  if (ranges::binary_search(flat, kEmpty)) {
    const bool all = ranges::all_of(flat, [&](RegexId id) { return nodes_[id].nullable; });
    return all ? kEmpty : kNothing;
  }
  for (const RegexId id : flat) {
    const Node& node = nodes_[id];
    if (node.kind == Kind::Not && ranges::binary_search(flat, node.a)) return kNothing;
  }
  if (flat.empty()) return kAnything;
  if (flat.size() == 1) return flat.front();
  return make_list(Kind::All, std::move(flat));
}

RegexId RegexPool::complement(RegexId part) {
  const Node& node = nodes_[part];
  if (node.kind == Kind::Not) return node.a;
  // The complement of nothing is anything, which counts as plain.
  const bool plain = part == kNothing;
  return make({.kind = Kind::Not,
               .nullable = !node.nullable,
               .plain = plain,
               .known = plain,
               .a = part,
               .digest = Digester(static_cast<uint64_t>(Kind::Not)).add(node.digest).get()});
}

RegexId RegexPool::repeat(RegexId part, uint32_t least, uint32_t most) {
  if (least > most) return kNothing;
  if (most == 0) return kEmpty;
  if (part == kNothing) return least == 0 ? kEmpty : kNothing;
  if (part == kEmpty) return kEmpty;
  if (least == 1 && most == 1) return part;
  const Node& node = nodes_[part];
  if (node.nullable) least = 0;
  if (node.kind == Kind::Repeat) {
    const auto [inner_least, inner_most] = bounds_[node.b];
    if (inner_most == kUnlimited && inner_least <= 1) {  // (a*){n,m}, (a+){n,m}
      if (inner_least == 0) return part;
      return repeat(node.a, least, kUnlimited);
    }
  }
  if (node.kind == Kind::Bytes && least == 0 && most == kUnlimited &&
      sets_[node.a] == ByteSet::all())
    return kAnything;
  if (least == 0 && most == 1) return any_of(kEmpty, part);
  bounds_.emplace_back(least, most);
  return make({.kind = Kind::Repeat,
               .nullable = least == 0,
               .plain = node.plain,
               .known = node.plain,
               .a = part,
               .b = static_cast<uint32_t>(bounds_.size() - 1),
               .digest = Digester(static_cast<uint64_t>(Kind::Repeat))
                             .add(node.digest)
                             .add(least)
                             .add(most)
                             .get()});
}

RegexId RegexPool::automaton(const Automaton& automaton, uint32_t start) {
  // Automata are not interned: adding an equal one makes a new expression.
  const auto index = static_cast<uint32_t>(automata_.size());
  Digester contents(static_cast<uint64_t>(Kind::State));
  for (size_t s = 0; s < automaton.next.size(); ++s) {
    work_.count(128);
    contents.add(static_cast<uint64_t>(automaton.accepting[s]));
    for (size_t b = 0; b < 256; b += 2)
      contents.add(uint64_t{automaton.next[s][b]} << 32 | automaton.next[s][b + 1]);
  }
  automata_.push_back({automaton, {}});
  std::vector<RegexId> states;
  for (uint32_t s = 0; s < automaton.next.size(); ++s) {
    states.push_back(
        make({.kind = Kind::State,
              .nullable = automaton.accepting[s],
              .plain = false,
              .known = automaton.accepting[s],
              .a = index,
              .b = s,
              .digest = Digester(contents.get().low).add(contents.get().high).add(s).get()}));
  }
  automata_.back().states = states;
  return states.at(start);
}

void RegexPool::narrow(RegexId id, uint8_t byte, ByteSet& like) {
  for (;;) {
    work_.count();
    const Node& node = nodes_[id];
    switch (node.kind) {
      case Kind::Nothing:
      case Kind::Empty:
        return;
      case Kind::Bytes: {
        const ByteSet& set = sets_[node.a];
        like = like & (set.contains(byte) ? set : ~set);
        return;
      }
      case Kind::Concat:
        narrow(node.a, byte, like);
        if (!nodes_[node.a].nullable) return;
        id = node.b;
        break;
      case Kind::Any:
      case Kind::All:
        for (const RegexId part : parts(node)) narrow(part, byte, like);
        return;
      case Kind::Not:
      case Kind::Repeat:
        id = node.a;
        break;
      case Kind::State: {
        work_.count(64);
        const auto& next = automata_[node.a].automaton.next[node.b];
        for (unsigned b = 0; b < 256; ++b) {
          if (next[b] == next[byte]) continue;
          like = like & ~ByteSet(static_cast<uint8_t>(b), static_cast<uint8_t>(b));
        }
        return;
      }
    }
  }
}

RegexId RegexPool::derivative(RegexId id, uint8_t byte) {
  work_.count();
  if (tables_[id] != nullptr) {
    const RegexId known = (*tables_[id])[byte];
    if (known != kUnknown) return known;
  }
  const RegexId result = compute_derivative(id, byte);
  ByteSet like = ByteSet::all();
  narrow(id, byte, like);
  if (tables_[id] == nullptr) {
    tables_[id] = std::make_unique<Table>();
    tables_[id]->fill(kUnknown);
  }
  Table& table = *tables_[id];
  for (size_t w = 0; w < 4; ++w) {
    for (uint64_t word = like.words()[w]; word != 0; word &= word - 1) {
      table[64 * w + static_cast<size_t>(std::countr_zero(word))] = result;
    }
  }
  return result;
}

RegexId RegexPool::compute_derivative(RegexId id, uint8_t byte) {
  const Node node = nodes_[id];  // a copy, because new expressions move the nodes
  switch (node.kind) {
    case Kind::Nothing:
    case Kind::Empty:
      return kNothing;
    case Kind::Bytes:
      return sets_[node.a].contains(byte) ? kEmpty : kNothing;
    case Kind::Concat: {
      std::vector<RegexId> alternatives;
      for (RegexId at = id;;) {
        const Node here = nodes_[at];
        if (here.kind != Kind::Concat) {
          alternatives.push_back(derivative(at, byte));
          break;
        }
        alternatives.push_back(concat(derivative(here.a, byte), here.b));
        if (!nodes_[here.a].nullable) break;
        at = here.b;
      }
      return alternatives.size() == 1 ? alternatives[0] : any_of(alternatives);
    }
    case Kind::Any:
    case Kind::All: {
      const std::span<const RegexId> list = parts(node);
      std::vector<RegexId> derived(list.begin(), list.end());
      for (RegexId& part : derived) {
        part = derivative(part, byte);
        if (part == kNothing && node.kind == Kind::All) return kNothing;
      }
      return node.kind == Kind::Any ? any_of(derived) : all_of(derived);
    }
    case Kind::Not:
      return complement(derivative(node.a, byte));
    case Kind::Repeat: {
      const auto [least, most] = bounds_[node.b];
      const RegexId rest =
          repeat(node.a, least == 0 ? 0 : least - 1, most == kUnlimited ? kUnlimited : most - 1);
      return concat(derivative(node.a, byte), rest);
    }
    case Kind::State: {
      const KeptAutomaton& kept = automata_[node.a];
      const uint32_t next = kept.automaton.next[node.b][byte];
      return next == kNowhere ? kNothing : kept.states[next];
    }
  }
  return kNothing;
}

bool RegexPool::is_nothing(RegexId id) {
  if (nodes_[id].known) return nodes_[id].empty;
  // Depth first, down to the first end; then every expression on the path has one. A quote, which
  // ends JSON strings, is tried first.
  constexpr unsigned kFirst = '"';
  struct Visit {
    RegexId id;
    ByteSet left;  // bytes left to try
  };
  std::vector<Visit> path{{id, ByteSet::all()}};
  std::unordered_map<RegexId, bool> visited{{id, true}};
  const auto has_end = [&](RegexId x) {
    return nodes_[x].nullable || (nodes_[x].known && !nodes_[x].empty);
  };
  bool found = has_end(id);
  while (!found && !path.empty()) {
    Visit& top = path.back();
    if (top.left.is_empty()) {
      path.pop_back();
      continue;
    }
    unsigned chosen = kFirst;
    if (!top.left.contains(static_cast<uint8_t>(kFirst))) {
      size_t w = 0;
      while (top.left.words()[w] == 0) ++w;
      chosen = static_cast<unsigned>(64 * w) +
               static_cast<unsigned>(std::countr_zero(top.left.words()[w]));
    }
    const auto byte = static_cast<uint8_t>(chosen);
    const RegexId from = top.id;
    // All bytes with the same derivative at once.
    ByteSet like = ByteSet::all();
    narrow(from, byte, like);
    top.left = top.left & ~like;
    const RegexId next = derivative(from, byte);
    if (has_end(next)) {
      found = true;
    } else if (!nodes_[next].known && visited.emplace(next, true).second) {
      path.push_back({next, ByteSet::all()});
    }
  }
  if (found) {
    for (const Visit& visit : path) nodes_[visit.id].known = true;
  } else {
    for (const auto& [seen, _] : visited) nodes_[seen].known = nodes_[seen].empty = true;
  }
  return !found;
}

ByteSet RegexPool::first_bytes(RegexId id) {
  ByteSet set;
  ByteSet left = ByteSet::all();
  for (unsigned b = 0; b < 256; ++b) {
    const auto byte = static_cast<uint8_t>(b);
    if (!left.contains(byte)) continue;
    ByteSet like = ByteSet::all();
    narrow(id, byte, like);
    left = left & ~like;
    if (!is_nothing(derivative(id, byte))) set = set | like;
  }
  return set;
}

bool RegexPool::matches(RegexId id, std::string_view text) {
  for (const char c : text) id = derivative(id, static_cast<uint8_t>(c));
  return is_nullable(id);
}

}  // namespace pippin::constrain
