// Times in files of texts and subtitles.
#pragma once

#include <string>

namespace pippin::speech {

// Returns "01:02.345" or, after an hour or with `hours`, "00:01:02.345", with `mark` before the
// milliseconds.
std::string format_time(double seconds, bool hours, char mark);

// Returns "01:02.34": minutes, which may exceed 59, seconds and hundredths.
std::string format_lyrics_time(double seconds);

}  // namespace pippin::speech
