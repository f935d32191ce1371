// Where completions of code end besides tokens and stop strings: before a line that leaves the
// block that it is in, or after some time. Both are llama-server's (n_indent, t_max_predict_ms).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace pippin::server {

struct LineLimitOptions {
  int64_t indent = 0;         // blanks that a further line has at its begin; 0: any number
  int64_t milliseconds = -1;  // from the first piece, to a text with a line end; negative: no limit
};

// One text, in pieces. Line ends and blanks are held back until it is known that their line counts.
class LineLimits {
 public:
  explicit LineLimits(const LineLimitOptions& options) : options_(options) {}

  // The text that is certain.
  std::string push(std::string_view piece);
  // The rest, where the text ends by itself.
  std::string finish();
  // Whether nothing that comes counts any more.
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
