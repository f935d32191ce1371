#include "pippin/runtime/draft/suffix_automaton.h"

namespace pippin::runtime {
namespace {

constexpr size_t kFirstTable = 64;  // a power of two
// Updates the latest occurrence only in the longest suffixes. In a text that repeats one token, all
// of them would be as many as there are tokens.
constexpr int kFollowed = 32;

}  // namespace

void SuffixAutomaton::clear() {
  text_.clear();
  states_.assign(1, {});
  edges_.clear();
  table_.assign(kFirstTable, -1);
  last_ = 0;
}

uint64_t SuffixAutomaton::bytes() const {
  return text_.capacity() * sizeof(int32_t) + states_.capacity() * sizeof(State) +
         edges_.capacity() * sizeof(Edge) + table_.capacity() * sizeof(int32_t);
}

int32_t SuffixAutomaton::add_state(int32_t length, int32_t end) {
  states_.push_back({length, -1, end, -1});
  return static_cast<int32_t>(states_.size()) - 1;
}

// The slot of the edge, or the slot where it would be added.
size_t SuffixAutomaton::slot(int32_t state, int32_t id) const {
  const uint64_t key = uint64_t{static_cast<uint32_t>(state)} << 32 | static_cast<uint32_t>(id);
  const uint64_t hash = key * 0x9E3779B97F4A7C15U;
  size_t at = (hash ^ hash >> 32) & (table_.size() - 1);
  while (table_[at] >= 0) {
    const Edge& edge = edges_[static_cast<size_t>(table_[at])];
    if (edge.state == state && edge.id == id) break;
    at = (at + 1) & (table_.size() - 1);
  }
  return at;
}

int32_t SuffixAutomaton::find(int32_t state, int32_t id) const {
  return table_[slot(state, id)];
}

void SuffixAutomaton::add_edge(int32_t state, int32_t id, int32_t target) {
  if ((edges_.size() + 1) * 2 > table_.size()) grow_table();
  State& from = states_[static_cast<size_t>(state)];
  const auto edge = static_cast<int32_t>(edges_.size());
  table_[slot(state, id)] = edge;
  edges_.push_back({state, id, target, from.edge});
  from.edge = edge;
}

void SuffixAutomaton::grow_table() {
  table_.assign(table_.size() * 2, -1);
  for (size_t i = 0; i < edges_.size(); ++i) {
    table_[slot(edges_[i].state, edges_[i].id)] = static_cast<int32_t>(i);
  }
}

// Adds a state for the substrings of the target that are at most one token longer than those of
// `from`; the target keeps the longer ones.
int32_t SuffixAutomaton::split(int32_t from, int32_t edge) {
  const int32_t id = edges_[static_cast<size_t>(edge)].id;
  const int32_t whole = edges_[static_cast<size_t>(edge)].target;
  const int32_t part = add_state(states_[static_cast<size_t>(from)].length + 1,
                                 states_[static_cast<size_t>(whole)].end);
  for (int32_t at = states_[static_cast<size_t>(whole)].edge; at >= 0;
       at = edges_[static_cast<size_t>(at)].next) {
    const Edge copied = edges_[static_cast<size_t>(at)];
    add_edge(part, copied.id, copied.target);
  }
  states_[static_cast<size_t>(part)].link = states_[static_cast<size_t>(whole)].link;
  states_[static_cast<size_t>(whole)].link = part;
  for (int32_t state = from; state >= 0; state = states_[static_cast<size_t>(state)].link) {
    const int32_t found = find(state, id);
    if (found < 0 || edges_[static_cast<size_t>(found)].target != whole) break;
    edges_[static_cast<size_t>(found)].target = part;
  }
  return part;
}

void SuffixAutomaton::append(int32_t id) {
  text_.push_back(id);
  const auto end = static_cast<int32_t>(text_.size());
  const int32_t before = last_;
  last_ = add_state(states_[static_cast<size_t>(before)].length + 1, end);
  int32_t state = before;
  for (; state >= 0 && find(state, id) < 0; state = states_[static_cast<size_t>(state)].link) {
    add_edge(state, id, last_);
  }
  int32_t link = 0;
  if (state >= 0) {
    const int32_t edge = find(state, id);
    link = edges_[static_cast<size_t>(edge)].target;
    if (states_[static_cast<size_t>(link)].length !=
        states_[static_cast<size_t>(state)].length + 1) {
      link = split(state, edge);
    }
  }
  states_[static_cast<size_t>(last_)].link = link;
  for (int i = 0; i < kFollowed && link > 0; ++i) {
    states_[static_cast<size_t>(link)].end = end;
    link = states_[static_cast<size_t>(link)].link;
  }
}

// Follows the splits since the match was made, which may have moved the substring to another state.
SuffixAutomaton::Match SuffixAutomaton::normal(Match match) const {
  for (;;) {
    const int32_t link = states_[static_cast<size_t>(match.state)].link;
    if (link < 0 || match.length > states_[static_cast<size_t>(link)].length) return match;
    match.state = link;
  }
}

SuffixAutomaton::Match SuffixAutomaton::advance(Match match, int32_t id) const {
  match = normal(match);
  for (;;) {
    const int32_t edge = find(match.state, id);
    if (edge >= 0) return {edges_[static_cast<size_t>(edge)].target, match.length + 1};
    match.state = states_[static_cast<size_t>(match.state)].link;
    if (match.state < 0) return {};
    match.length = states_[static_cast<size_t>(match.state)].length;
  }
}

int64_t SuffixAutomaton::end(const Match& match) const {
  return states_[static_cast<size_t>(normal(match).state)].end;
}

bool SuffixAutomaton::has_one_continuation(const Match& match) const {
  const int32_t edge = states_[static_cast<size_t>(normal(match).state)].edge;
  return edge >= 0 && edges_[static_cast<size_t>(edge)].next < 0;
}

}  // namespace pippin::runtime
