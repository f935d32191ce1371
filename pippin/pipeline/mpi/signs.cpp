#include "pippin/pipeline/mpi/signs.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "pippin/base/numbers/number.h"

namespace pippin::pipeline {

Sign Sign::of_this_process(std::string machine) {
  return {std::move(machine), std::to_string(::getppid()), std::to_string(::getpid())};
}

Sign Sign::parse(const std::string& text) {
  const size_t first = text.find('\n');
  const size_t second = first == text.npos ? first : text.find('\n', first + 1);
  if (second == text.npos) return {};
  int32_t process = 0;
  if (!parse_number(std::string_view(text).substr(second + 1), process) || process < 1) return {};
  return {text.substr(0, first), text.substr(first + 1, second - first - 1),
          text.substr(second + 1)};
}

std::string Sign::text() const {
  return fmt::format("{}\n{}\n{}", machine, launcher, process);
}

Signs::Signs(Sign own, int size, Clock::time_point now)
    : own_(std::move(own)),
      signs_(static_cast<size_t>(size)),
      heard_(static_cast<size_t>(size), now) {}

void Signs::hear(int rank, const std::string& text, Clock::time_point now) {
  signs_.at(static_cast<size_t>(rank)) = Sign::parse(text);
  heard_.at(static_cast<size_t>(rank)) = now;
}

void Signs::forgive(Clock::time_point now) {
  std::fill(heard_.begin(), heard_.end(), now);
}

bool Signs::has_ended(int rank) const {
  const Sign& sign = signs_.at(static_cast<size_t>(rank));
  const bool is_here = !sign.process.empty() && sign.machine == own_.machine &&
                       !sign.launcher.empty() && sign.launcher == own_.launcher;
  return is_here && ::kill(static_cast<pid_t>(std::stol(sign.process)), 0) != 0 && errno == ESRCH;
}

std::string Signs::why_lost(int rank, Clock::time_point now) const {
  if (has_ended(rank)) return "its process has ended";
  if (now - heard_.at(static_cast<size_t>(rank)) < kPatience) return "";
  return fmt::format("not heard of for {} seconds", std::chrono::seconds(kPatience).count());
}

std::string Signs::place(int rank) const {
  const Sign& sign = signs_.at(static_cast<size_t>(rank));
  return sign.process.empty() ? "" : fmt::format(" ({}, process {})", sign.machine, sign.process);
}

}  // namespace pippin::pipeline
