// Joins the words of two windows that overlap, because the end of the first one is not in a pause.
#pragma once

#include <vector>

#include "pippin/speech/recognition/recognized_words.h"

namespace pippin::speech {

// The seconds of a recording that two windows share.
struct Overlap {
  double begin = 0, end = 0;
};

// Removes the words of the overlap from one of two windows each, so that `left` and then `right`
// are the words of both. They meet in the longest run of words that both have at about the same
// time; without one, anywhere. `left` keeps the words of the first half of the overlap, `right`
// those of the second, as far as the run allows: the windows' ends may have cut the others. Without
// a run, words stay where the other window has none.
void join_words(std::vector<RecognizedWord>& left, std::vector<RecognizedWord>& right,
                const Overlap& overlap);

}  // namespace pippin::speech
