#include "pippin/cli/options/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "pippin/base/text.h"

namespace pippin::cli {
namespace {

bool draws_bars(std::FILE* out) {
  const char* terminal = std::getenv("TERM");
  return ::isatty(::fileno(out)) != 0 && terminal != nullptr && std::string(terminal) != "dumb";
}

int columns(std::FILE* out) {
  winsize size{};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

// no-color.org: any value that is not empty.
bool wants_color() {
  const char* value = std::getenv("NO_COLOR");
  return value == nullptr || *value == '\0';
}

double fraction_of(uint64_t done, uint64_t total) {
  if (total == 0) return 1.0;
  return std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
}

}  // namespace

bool has_styles(std::FILE* out) {
  return draws_bars(out) && wants_color();
}

std::string progress_bar(double fraction, int width) {
  const int full = static_cast<int>(fraction * width);
  std::string bar(static_cast<size_t>(full), '=');
  if (full < width) bar += '>';
  bar.resize(static_cast<size_t>(width), ' ');
  return "[" + bar + "]";
}

std::string format_duration(double seconds) {
  if (!(seconds < 100 * 3600)) return "?";
  const int64_t whole = std::llround(seconds);
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

Progress::Progress(std::string label, Style style, std::FILE* out, std::string unit)
    : label_(std::move(label)),
      unit_(std::move(unit)),
      style_(style),
      out_(out),
      color_(wants_color()),
      start_(Clock::now()),
      last_(start_) {
  if (style_ == Style::Auto) style_ = draws_bars(out_) ? Style::Bar : Style::Lines;
}

Progress::~Progress() {
  if (style_ == Style::Bar && drawn_) {
    std::fputs("\r\033[K", out_);
    std::fflush(out_);
  }
}

void Progress::print_line(const std::string& line) {
  if (style_ == Style::Bar && drawn_) std::fputs("\r\033[K", out_);
  fmt::print(out_, "{}\n", line);
  drawn_ = false;
}

double Progress::speed(uint64_t done, double seconds) const {
  const uint64_t first = first_.value_or(0);
  return seconds > 0 && done > first ? static_cast<double>(done - first) / seconds : 0;
}

void Progress::update(uint64_t done, uint64_t total) {
  const auto now = Clock::now();
  if (!first_) {
    first_ = done;
    start_ = now;
  }
  const double seconds = std::chrono::duration<double>(now - start_).count();
  if (style_ == Style::Bar) {
    if (drawn_ && done < total && now - last_ < std::chrono::milliseconds(80)) return;
    draw_bar(done, total, seconds);
    last_ = now;
  } else if (style_ == Style::Lines) {
    // A line per tenth, but none within a second of the last one: small models print nothing.
    const int tenth = static_cast<int>(fraction_of(done, total) * 10);
    if (tenth == last_tenth_ || now - last_ < std::chrono::seconds(1)) return;
    draw_line(done, total, seconds);
    last_tenth_ = tenth;
    last_ = now;
  }
}

std::string Progress::amount(uint64_t count) const {
  return unit_.empty() ? format_bytes(count) : fmt::format("{} {}", count, unit_);
}

std::string Progress::rate_and_rest(uint64_t done, uint64_t total, double seconds) const {
  const double rate = speed(done, seconds);
  const double left = static_cast<double>(total - std::min(done, total));
  // Few items a second have a digit more.
  constexpr double kMany = 10;
  const std::string shown = !unit_.empty() && rate > 0 && rate < kMany
                                ? fmt::format("{:.2f} {}", rate, unit_)
                                : amount(static_cast<uint64_t>(rate));
  return fmt::format("{}/s  {}", shown, rate > 0 ? format_duration(left / rate) : "?");
}

void Progress::draw_bar(uint64_t done, uint64_t total, double seconds) {
  const double fraction = fraction_of(done, total);
  const std::string numbers = fmt::format("{:3.0f}%  {} / {}  {}", fraction * 100, amount(done),
                                          amount(total), rate_and_rest(done, total, seconds));
  const int room = columns(out_) - static_cast<int>(label_.size() + numbers.size()) - 7;
  const std::string bar = room >= 10 ? progress_bar(fraction, std::min(room, 40)) : std::string();
  const char* on = color_ ? "\033[32m" : "";
  const char* off = color_ ? "\033[0m" : "";
  fmt::print(out_, "\r{} {}{}{} {}\033[K", label_, on, bar, off, numbers);
  std::fflush(out_);
  drawn_ = true;
}

void Progress::draw_line(uint64_t done, uint64_t total, double seconds) {
  fmt::print(out_, "{}: {:.0f}% ({} of {}, {:.0f} s, {})\n", label_, fraction_of(done, total) * 100,
             amount(done), amount(total), seconds, rate_and_rest(done, total, seconds));
  std::fflush(out_);
}

}  // namespace pippin::cli
