// A progress bar on stderr: redrawn in place on a terminal, occasional plain lines elsewhere.
//
//   Writing   [=============>              ]  48%  1.2 GB / 2.6 GB  1.1 GB/s  0:02
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace pippin::cli {

class Progress {
 public:
  enum class Style {
    Auto,  // a bar if the terminal can draw one, else lines
    Bar,
    Lines,
    Quiet,
  };
  // The unit: bytes, or items with this name ("tokens").
  explicit Progress(std::string label, Style style = Style::Auto, std::FILE* out = stderr,
                    std::string unit = "");
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();  // clears the bar

  // Cheap: redraws only about ten times a second.
  void update(uint64_t done, uint64_t total);
  // Prints a line above the bar.
  void print_line(const std::string& line);

 private:
  std::string amount(uint64_t count) const;
  std::string rate_and_rest(uint64_t done, uint64_t total, double seconds) const;
  void draw_bar(uint64_t done, uint64_t total, double seconds);
  void draw_line(uint64_t done, uint64_t total, double seconds);
  // Since the first update, because earlier progress took no time.
  double speed(uint64_t done, double seconds) const;

  using Clock = std::chrono::steady_clock;
  std::string label_, unit_;
  Style style_;
  std::FILE* out_;
  bool color_;
  Clock::time_point start_, last_;
  std::optional<uint64_t> first_;  // done at the first update
  int last_tenth_ = -1;
  bool drawn_ = false;
};

// Whether `out` is a terminal that shows colours and NO_COLOR does not disable them.
bool has_styles(std::FILE* out);

// "0:07", "12:34", "1:02:03"; "?" for days.
std::string format_duration(double seconds);

// "[====>    ]": `width` characters between the brackets.
std::string progress_bar(double fraction, int width);

}  // namespace pippin::cli
