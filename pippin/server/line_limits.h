// Further ends of code completions besides tokens and stop strings: before a line that leaves the
// current block, or after some time. Both are llama-server's (n_indent, t_max_predict_ms).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace pippin::server {

struct LineLimitOptions {
  int64_t indent = 0;         // required indentation of further lines, in blanks; 0: none
  int64_t milliseconds = -1;  // from the first piece, once there is a line end; negative: none
};

// Processes one text, in pieces. Line ends and blanks are held back until it is known that their
// line belongs to the text.
class LineLimits {
 public:
  explicit LineLimits(const LineLimitOptions& options) : options_(options) {}

  // Returns the text that is certain.
  std::string push(std::string_view piece);
  // Returns the rest if the text ends by itself.
  std::string finish();
  // Returns whether the text has ended: further pieces are ignored.
  bool is_over() const { return is_over_; }

 private:
  using Clock = std::chrono::steady_clock;

  LineLimitOptions options_;
  Clock::time_point start_{};  // of the first piece
  std::string held_;           // line ends and the blanks after them
  int64_t blanks_ = 0;         // after the last line end
  bool has_line_end_ = false, is_over_ = false;
};

}  // namespace pippin::server
