#include "pippin/server/line_limits.h"

#include <utility>

namespace pippin::server {

std::string LineLimits::push(std::string_view piece) {
  const auto now = Clock::now();
  if (start_ == Clock::time_point{}) start_ = now;
  std::string out;
  for (const char c : piece) {
    if (is_over_) break;
    if (c == '\n') {
      has_line_end_ = true;
      held_ += c;
      blanks_ = 0;
    } else if (!held_.empty() && (c == ' ' || c == '\t')) {
      held_ += c;
      ++blanks_;
    } else if (!held_.empty() && blanks_ < options_.indent) {
      is_over_ = true;
    } else {
      out += std::exchange(held_, {}) + c;
    }
  }
  if (options_.milliseconds >= 0 && has_line_end_ &&
      now - start_ >= std::chrono::milliseconds(options_.milliseconds)) {
    is_over_ = true;
  }
  return out;
}

std::string LineLimits::finish() {
  return is_over_ ? std::string() : std::exchange(held_, {});
}

}  // namespace pippin::server
