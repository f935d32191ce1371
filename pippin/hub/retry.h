// What to retry, and when.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <string_view>

#include "pippin/hub/http.h"

namespace pippin::hub {

// No answer, a cut or late one, 408, 429 and 5xx (501 and 505 apart).
bool is_transient(const HttpResponse& response);

// How long the server asks to wait: Retry-After in seconds or as a date, else the reset time of a
// RateLimit header that says "r=0". At most kLongestWait.
std::optional<std::chrono::milliseconds> asked_wait(
    const HttpResponse& response,
    std::chrono::system_clock::time_point now = std::chrono::system_clock::now());
inline constexpr std::chrono::minutes kLongestWait{5};

// The waits between the attempts of one request: 0.25 s, doubled up to 8 s, each up to a quarter
// longer by chance, so that those whom a server refused together do not come back together.
class Backoff {
 public:
  explicit Backoff(int retries) : retries_(retries) {}
  // Nothing where there have been enough.
  std::optional<std::chrono::milliseconds> next(const HttpResponse& response);
  void progress() { count_ = 0; }

 private:
  int retries_;
  int count_ = 0;
};

// Ends early, with true, when `stop` is set. Throws Cancelled.
bool wait_or_stop(std::chrono::milliseconds time, const std::atomic<bool>* stop = nullptr);

}  // namespace pippin::hub
