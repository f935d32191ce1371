// Retry policy: which failures to retry, and when.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string_view>

#include "pippin/hub/http.h"

namespace pippin::hub {

// Returns true for no answer, a truncated or late one, 408, 429 and 5xx, except 501 and 505.
bool is_transient(const HttpResponse& response);

// Returns the wait that the server requests: Retry-After in seconds or as a date, else the reset
// time of a RateLimit header with "r=0". At most kLongestWait.
std::optional<std::chrono::milliseconds> asked_wait(
    const HttpResponse& response,
    std::chrono::system_clock::time_point now = std::chrono::system_clock::now());
inline constexpr std::chrono::minutes kLongestWait{5};

// Waits between the attempts of a request: 0.25 s, doubled up to 8 s, each extended by up to a
// quarter at random, so that clients rejected together do not return together.
class Backoff {
 public:
  explicit Backoff(int retries) : retries_(retries) {}
  // Returns nothing after the last retry.
  std::optional<std::chrono::milliseconds> next(const HttpResponse& response);
  void progress() { count_ = 0; }

 private:
  int retries_;
  int count_ = 0;
};

// Returns true early if `stop` is set. Throws Cancelled.
bool wait_or_stop(std::chrono::milliseconds time, const std::atomic<bool>* stop = nullptr);

}  // namespace pippin::hub
