// Interned regular expressions over bytes, with intersection and complement, and their derivatives:
// Brzozowski, "Derivatives of Regular Expressions" (1964); Owens, Reppy and Turon,
// "Regular-expression derivatives re-examined" (2009). An expression is its own automaton: the
// derivative by a byte is the state after it.
//
// Expressions are normalized (alternatives are sorted and unique, empty languages are dropped), so
// that equal numbers mean equal languages, and loops reach known expressions again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pippin/constrain/byte_set.h"
#include "pippin/constrain/work.h"

namespace pippin::constrain {

using RegexId = uint32_t;

struct RegexLimits {
  size_t max_expressions = 400'000;  // including states
  size_t max_parts = 4'000'000;      // of all alternatives and intersections
};

// 128-bit hash of an expression's structure, equal in all pools for equal expressions.
struct RegexDigest {
  uint64_t low = 0, high = 0;
  friend bool operator==(const RegexDigest&, const RegexDigest&) = default;
};

// Not thread-safe. Functions that make expressions throw LimitExceeded, with the numbers, beyond
// the limits, and as Work::count().
class RegexPool {
 public:
  static constexpr RegexId kNothing = 0;  // no string
  static constexpr RegexId kEmpty = 1;    // the empty string
  static constexpr RegexId kAnything = 2;
  static constexpr uint32_t kUnlimited = UINT32_MAX;

  explicit RegexPool(const RegexLimits& limits = {});

  RegexId bytes(const ByteSet& set);  // one byte of the set
  RegexId literal(std::string_view text);
  RegexId concat(RegexId first, RegexId second);
  RegexId concat(std::span<const RegexId> parts);
  RegexId any_of(std::span<const RegexId> parts);  // kNothing if none exist
  RegexId any_of(RegexId a, RegexId b) { return any_of(std::array{a, b}); }
  RegexId all_of(std::span<const RegexId> parts);  // kAnything if none exist
  RegexId all_of(RegexId a, RegexId b) { return all_of(std::array{a, b}); }
  RegexId complement(RegexId part);  // among all byte strings
  RegexId minus(RegexId a, RegexId b) { return all_of(a, complement(b)); }
  RegexId repeat(RegexId part, uint32_t least, uint32_t most = kUnlimited);
  // Makes expressions of an automaton's states: a byte leads from state s to next[s][byte], or
  // nowhere (kNowhere). Returns the expression of `start`.
  static constexpr uint32_t kNowhere = UINT32_MAX;
  struct Automaton {
    std::vector<std::array<uint32_t, 256>> next;
    std::vector<bool> accepting;
  };
  RegexId automaton(const Automaton& automaton, uint32_t start = 0);
  RegexId optional(RegexId part) { return repeat(part, 0, 1); }

  // The strings s for which `byte` followed by s is in the expression.
  RegexId derivative(RegexId id, uint8_t byte);
  // The first bytes of the expression's strings.
  ByteSet first_bytes(RegexId id);
  bool is_nullable(RegexId id) const { return nodes_[id].nullable; }  // has the empty string
  // Returns whether the language is empty. For intersections and complements, this searches the
  // states for an end; the result is cached.
  bool is_nothing(RegexId id);
  bool matches(RegexId id, std::string_view text);  // whole text
  // Returns whether the two have a string in common.
  bool overlap(RegexId a, RegexId b) { return !is_nothing(all_of(a, b)); }

  // A slot for an expression that users of the pool need often; initially kNothing.
  RegexId& kept(size_t slot) { return kept_[slot]; }

  // The work of this pool and of everything made with it.
  Work& work() { return work_; }
  const Work& work() const { return work_; }

  RegexDigest digest(RegexId id) const { return nodes_[id].digest; }
  size_t size() const { return nodes_.size(); }

 private:
  enum class Kind : uint8_t { Nothing, Empty, Bytes, Concat, Any, All, Not, Repeat, State };
  struct Node {
    Kind kind = Kind::Nothing;
    bool nullable = false;
    bool plain = true;  // no intersections or complements: empty only if it is kNothing
    bool known = true;  // whether `empty` is known
    bool empty = false;
    // Bytes: index of the set. Concat: both parts. Any, All: begin and size in lists_. Not: the
    // part. Repeat: the part and the index of the bounds. State: the automaton and the state.
    uint32_t a = 0, b = 0;
    RegexDigest digest = {};
  };
  using Table = std::array<RegexId, 256>;

  RegexId make(Node node);
  bool same(const Node& x, const Node& y) const;
  std::span<const RegexId> parts(const Node& node) const {
    return std::span(lists_).subspan(node.a, node.b);
  }
  RegexId make_list(Kind kind, std::vector<RegexId> parts);
  RegexId compute_derivative(RegexId id, uint8_t byte);
  // Narrows `like` to the bytes that lead from `id` to the same expression as `byte`.
  void narrow(RegexId id, uint8_t byte, ByteSet& like);

  RegexLimits limits_;
  Work work_;
  std::array<RegexId, 2> kept_{};
  std::vector<Node> nodes_;
  std::vector<RegexId> lists_;
  std::vector<ByteSet> sets_;
  std::vector<std::pair<uint32_t, uint32_t>> bounds_;
  struct KeptAutomaton {
    Automaton automaton;
    std::vector<RegexId> states;
  };
  std::vector<KeptAutomaton> automata_;
  std::unordered_multimap<uint64_t, RegexId> by_digest_;
  std::vector<std::unique_ptr<Table>> tables_;  // derivatives, if requested
};

}  // namespace pippin::constrain
