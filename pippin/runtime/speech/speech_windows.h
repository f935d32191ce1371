// Long recordings in windows: each overlaps the next one, and a token counts in the window that
// holds more of its surroundings.
//
//   window 0   |------------------|
//   window 1                |------------------|
//   tokens of   0 0 0 0 0 0 0 0|1 1 1 1 1 1 1 1
#pragma once

#include <cstdint>
#include <vector>

#include "pippin/runtime/speech/speech_token.h"

namespace pippin::runtime {

struct SpeechWindow {
  int64_t begin = 0, length = 0;  // rows of the input
  int64_t first_frame = 0;        // the frame of the recording that is its first one
  int64_t from = 0, to = 0;       // frames of the recording at which its tokens begin, [from, to)
};

// Windows of at most `longest` rows, all but the last one equally far apart, for frames of `stride`
// rows, of which `longest` has two at least. The last one ends with the input. `overlap` is in
// frames; half of a window if it is more.
std::vector<SpeechWindow> divide_speech(int64_t length, int64_t longest, int64_t stride,
                                        int64_t overlap);

// Appends the tokens of a window, whose frames count from its first one, to those of the windows
// before. A token that both have at neighboring frames, to either side of the border, counts once.
void append_window(const SpeechWindow& window, const std::vector<SpeechToken>& found,
                   std::vector<SpeechToken>& tokens);

}  // namespace pippin::runtime
