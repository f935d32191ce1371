#include "pippin/hub/retry.h"

#include <algorithm>
#include <charconv>
#include <ctime>
#include <random>
#include <thread>

#include "pippin/base/threads/cancel.h"

namespace pippin::hub {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::optional<int64_t> whole_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc::result_out_of_range) return INT32_MAX;
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return std::min<int64_t>(number, INT32_MAX);
}

// "Wed, 21 Oct 2015 07:28:00 GMT"
std::optional<seconds> until_date(const std::string& text,
                                  std::chrono::system_clock::time_point now) {
  std::tm parts{};
  const char* end = ::strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S", &parts);
  if (end == nullptr) return std::nullopt;
  const auto then = std::chrono::system_clock::from_time_t(::timegm(&parts));
  return std::max(seconds(0), std::chrono::duration_cast<seconds>(then - now));
}

// Parses "api";r=0;t=55 to 55, if r is 0.
std::optional<seconds> rate_limit_reset(std::string_view text) {
  std::optional<int64_t> remaining, reset;
  while (!text.empty()) {
    const size_t end = std::min(text.find(';'), text.size());
    std::string_view part = text.substr(0, end);
    while (part.starts_with(' ')) part.remove_prefix(1);
    if (part.starts_with("r=")) remaining = whole_number(part.substr(2));
    if (part.starts_with("t=")) reset = whole_number(part.substr(2));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  if (remaining != 0 || !reset) return std::nullopt;
  return seconds(*reset);
}

}  // namespace

bool is_transient(const HttpResponse& response) {
  if (response.failure_is_final) return false;
  if (!response.failure.empty() || response.status == 0) return true;
  const int status = response.status;
  return status == 408 || status == 429 ||
         (status >= 500 && status < 600 && status != 501 && status != 505);
}

std::optional<milliseconds> asked_wait(const HttpResponse& response,
                                       std::chrono::system_clock::time_point now) {
  std::optional<seconds> wait;
  if (const auto after = response.header("retry-after")) {
    if (const auto number = whole_number(*after)) {
      wait = seconds(*number);
    } else {
      wait = until_date(*after, now);
    }
  }
  if (!wait && response.status == 429) {
    if (const auto limit = response.header("ratelimit")) wait = rate_limit_reset(*limit);
  }
  if (!wait) return std::nullopt;
  return std::min<milliseconds>(*wait, kLongestWait);
}

std::optional<milliseconds> Backoff::next(const HttpResponse& response) {
  if (count_ >= retries_) return std::nullopt;
  const int doublings = std::min(count_, 5);
  ++count_;
  thread_local std::minstd_rand random(std::random_device{}());
  const milliseconds base = milliseconds(250) * (1 << doublings);
  const milliseconds own =
      base + milliseconds(std::uniform_int_distribution<int64_t>(0, base.count() / 4)(random));
  const auto asked = asked_wait(response);
  return asked ? std::max(*asked, milliseconds(50)) : own;
}

bool wait_or_stop(milliseconds time, const std::atomic<bool>* stop) {
  const auto end = std::chrono::steady_clock::now() + time;
  for (;;) {
    check_cancel();
    if (stop != nullptr && stop->load()) return true;
    const auto left =
        std::chrono::duration_cast<milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    std::this_thread::sleep_for(std::min(left, milliseconds(50)));
  }
}

}  // namespace pippin::hub
