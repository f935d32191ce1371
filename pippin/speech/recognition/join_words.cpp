#include "pippin/speech/recognition/join_words.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace pippin::speech {
namespace {

using Words = std::vector<RecognizedWord>;

double middle_of(const RecognizedWord& word) {
  return (word.word.start + word.word.end) / 2;
}

size_t first_after(const Words& words, double time) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const RecognizedWord& word) {
    return middle_of(word) >= time;
  });
  return static_cast<size_t>(found - words.begin());
}

// A run of words that both windows have.
struct CommonRun {
  size_t left = 0, right = 0;  // its end
  size_t length = 0;
};

CommonRun longest_common_run(const Words& left, const Words& right, const Overlap& overlap) {
  const double tolerance = (overlap.end - overlap.begin) / 4;
  const size_t begin = first_after(left, overlap.begin), end = first_after(right, overlap.end);
  CommonRun best;
  // lengths[k]: of the run that ends before left[i] and right[k].
  std::vector<size_t> lengths(end + 1), before;
  for (size_t i = begin; i < left.size(); ++i) {
    before = lengths;
    for (size_t k = 0; k < end; ++k) {
      const Word &a = left[i].word, &b = right[k].word;
      const bool agree = a.text == b.text && std::abs(a.start - b.start) <= tolerance;
      lengths[k + 1] = agree ? before[k] + 1 : 0;
      if (lengths[k + 1] > best.length) best = {i + 1, k + 1, lengths[k + 1]};
    }
  }
  return best;
}

// `middle`, or the nearest time at which both have words.
double cut_of(const Words& left, const Words& right, double middle, const Overlap& overlap) {
  const double end = left.empty() ? overlap.begin : left.back().word.end;
  const double begin = right.empty() ? overlap.end : right.front().word.start;
  return end <= begin ? end : std::clamp(middle, begin, end);
}

}  // namespace

void join_words(Words& left, Words& right, const Overlap& overlap) {
  const double middle = (overlap.begin + overlap.end) / 2;
  const CommonRun run = longest_common_run(left, right, overlap);
  size_t left_end = 0, right_begin = 0;
  if (run.length > 0) {
    left_end = std::clamp(first_after(left, middle), run.left - run.length, run.left);
    right_begin = run.right - (run.left - left_end);
  } else {
    const double cut = cut_of(left, right, middle, overlap);
    left_end = first_after(left, cut);
    right_begin = first_after(right, cut);
  }
  left.resize(left_end);
  right.erase(right.begin(), right.begin() + static_cast<std::ptrdiff_t>(right_begin));
}

}  // namespace pippin::speech
