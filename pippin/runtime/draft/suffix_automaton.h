// A suffix automaton (Blumer et al., 1985) of a text of tokens: finds the longest suffix of another
// text (or of the text itself) that occurs in it. Appending a token takes constant time on average
// and adds at most two states and three edges.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pippin::runtime {

class SuffixAutomaton {
 public:
  // The longest suffix of a text that occurs in the automaton's text: its state and length.
  struct Match {
    int32_t state = 0;
    int32_t length = 0;
  };

  SuffixAutomaton() { clear(); }
  void clear();

  // Negative ids separate texts: use each one once, and no match crosses it.
  void append(int32_t id);
  // The match of a text that grew by this token. Matches stay valid while the automaton grows.
  Match advance(Match match, int32_t id) const;
  // The index of the token after the latest occurrence of the match.
  int64_t end(const Match& match) const;
  // Whether the same token followed all of its occurrences.
  bool has_one_continuation(const Match& match) const;

  std::span<const int32_t> text() const { return text_; }
  uint64_t bytes() const;

 private:
  struct State {
    int32_t length = 0, link = -1;
    int32_t end = 0;    // of the latest occurrence, if updated (kFollowed)
    int32_t edge = -1;  // the first one
  };
  struct Edge {
    int32_t state, id, target, next;
  };

  int32_t add_state(int32_t length, int32_t end);
  int32_t find(int32_t state, int32_t id) const;  // an edge; -1: none
  void add_edge(int32_t state, int32_t id, int32_t target);
  int32_t split(int32_t from, int32_t edge);
  size_t slot(int32_t state, int32_t id) const;
  void grow_table();
  Match normal(Match match) const;

  std::vector<int32_t> text_;
  std::vector<State> states_;
  std::vector<Edge> edges_;
  std::vector<int32_t> table_;  // edges, hashed by state and id; -1: free
  int32_t last_ = 0;
};

}  // namespace pippin::runtime
