// Signs of life: what ranks tell each other about themselves, and when each was heard last.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace pippin::pipeline {

constexpr auto kPatience = std::chrono::seconds(3);

// A rank's own description.
struct Sign {
  // `launcher`: the parent process, which ranks with the same process numbers share.
  std::string machine, launcher, process;

  static Sign of_this_process(std::string machine);
  static Sign parse(const std::string& text);
  std::string text() const;
};

class Signs {
 public:
  using Clock = std::chrono::steady_clock;

  Signs(Sign own, int size, Clock::time_point now);

  const Sign& own() const { return own_; }
  void hear(int rank, const std::string& text, Clock::time_point now);
  // For a time in which this process did not run: it was stopped, or its machine was suspended.
  void forgive(Clock::time_point now);
  // Why a rank is lost; empty: it is not. Of one on this machine that is known sooner than by its
  // silence.
  std::string why_lost(int rank, Clock::time_point now) const;
  // " (machine, process 12)", if known.
  std::string place(int rank) const;

 private:
  bool has_ended(int rank) const;

  const Sign own_;
  std::vector<Sign> signs_;
  std::vector<Clock::time_point> heard_;
};

}  // namespace pippin::pipeline
