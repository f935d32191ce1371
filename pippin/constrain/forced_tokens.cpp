#include "pippin/constrain/forced_tokens.h"

#include <bit>
#include <string>
#include <string_view>

namespace pippin::constrain {

namespace {

// Returns whether a token of more than `length` bytes may come next.
bool has_longer(Constraint& constraint, StateId state, size_t length) {
  const auto mask = constraint.mask(state);
  for (size_t w = 0; w < mask->words().size(); ++w) {
    for (uint64_t word = mask->words()[w]; word != 0; word &= word - 1) {
      const auto id = static_cast<int32_t>(64 * w + static_cast<size_t>(std::countr_zero(word)));
      if (constraint.vocabulary().bytes(id).size() > length) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<int32_t> forced_tokens(Constraint& constraint, StateId state,
                                   const Tokenizer& tokenizer, std::span<const int32_t> before,
                                   size_t most) {
  constexpr size_t kMostBytes = 200;
  const Vocabulary& vocabulary = constraint.vocabulary();
  const std::string text = constraint.forced_text(state, kMostBytes);
  if (text.size() < 2) return {};
  std::string all;
  for (const int32_t id : before) all += vocabulary.bytes(id);
  const size_t begin = all.size();
  all += text;
  std::vector<int32_t> tokens;
  std::vector<size_t> places;  // offset in `all` of each token and of the end
  size_t place = 0;
  bool is_first = true;
  for (const int32_t id : tokenizer.encode(all, false)) {
    std::string_view bytes = vocabulary.bytes(id);
    // Some tokenizers put a space before every text.
    if (is_first && bytes.starts_with(' ') && !all.starts_with(' ')) bytes.remove_prefix(1);
    is_first = false;
    if (all.compare(place, bytes.size(), bytes) != 0 || (bytes.empty() && place > 0)) return {};
    if (place >= begin) {
      if (bytes.size() != vocabulary.bytes(id).size()) return {};
      tokens.push_back(id);
      places.push_back(place);
    }
    place += bytes.size();
    if (place > begin && tokens.empty()) return {};  // it spans the boundary
    if (tokens.size() == most) break;
  }
  std::vector<StateId> states{state};
  for (size_t i = 0; i < tokens.size(); ++i) {
    states.push_back(constraint.step(states.back(), tokens[i]));
    if (states.back() == Matcher::kDead) return {};
  }
  // Together, the masks may take as much work as one; beyond it, the tokens are sampled one by one.
  const uint64_t most_work = constraint.work_done() + constraint.most_work();
  size_t certain = tokens.size();
  for (size_t i = tokens.size(); i-- > 0;) {
    if (constraint.work_done() > most_work) return {};
    if (has_longer(constraint, states[i], all.size() - places[i])) certain = i;
  }
  tokens.resize(certain);
  return tokens;
}

}  // namespace pippin::constrain
