#include "pippin/tokenizers/regex/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <algorithm>
#include <cstdint>
#include <ctime>
#include <string>

#include <pcre2.h>

#include "pippin/base/error.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/tokenizers/regex/regex_syntax.h"

namespace pippin::tokenizers {
namespace {

constexpr size_t kMaxPatternBytes = 64 << 10;
constexpr size_t kShown = 200;  // bytes of a pattern that an error message quotes

std::string pcre2_message(int code) {
  PCRE2_UCHAR text[256];
  if (pcre2_get_error_message(code, text, sizeof text) < 0) return fmt::format("error {}", code);
  return reinterpret_cast<const char*>(text);
}

// Match data, one per thread, shared by all patterns.
class Scratch {
 public:
  Scratch()
      : data_(pcre2_match_data_create(1, nullptr)), context_(pcre2_match_context_create(nullptr)) {
    if (data_ == nullptr || context_ == nullptr) {
      fail(ErrorCode::LimitExceeded, "no memory for matching patterns");
    }
    pcre2_set_heap_limit(context_, 64 << 10);  // KiB
    pcre2_set_depth_limit(context_, 10'000'000);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    pcre2_match_data_free(data_);
    pcre2_match_context_free(context_);
  }
  pcre2_match_data* data() { return data_; }
  // Long runs of spaces make sound patterns backtrack once per byte; only nested repeats need more.
  pcre2_match_context* context(size_t text_size) {
    const size_t limit = 10'000 + 64 * text_size;
    pcre2_set_match_limit(context_, static_cast<uint32_t>(std::min<size_t>(limit, UINT32_MAX)));
    return context_;
  }

 private:
  pcre2_match_data* data_;
  pcre2_match_context* context_;
};

// A pattern may stay within the limit of each match and still use it up for as many matches as the
// text has bytes. If the wall clock shows that it takes long, the thread's CPU time decides, so
// that other load on the machine does not count.
class Deadline {
 public:
  explicit Deadline(size_t text_size) : text_size_(text_size) {}
  void check() {
    const double clock = now(CLOCK_MONOTONIC);
    if (clock_end_ == 0) clock_end_ = clock + budget();
    if (clock < clock_end_) return;
    const double own = now(CLOCK_THREAD_CPUTIME_ID);
    if (own_end_ == 0) own_end_ = own + budget();
    if (own < own_end_) return;
    fail(ErrorCode::LimitExceeded, "a tokenizer's pattern takes too long on {} bytes of text",
         text_size_);
  }

 private:
  // In seconds, many times the need of sound patterns.
  double budget() const { return 1 + 4e-6 * static_cast<double>(text_size_); }
  static double now(clockid_t which) {
    timespec time{};
    ::clock_gettime(which, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }
  size_t text_size_;
  double clock_end_ = 0, own_end_ = 0;
};

Scratch& scratch() {
  thread_local Scratch instance;
  return instance;
}

}  // namespace

struct Regex::Code {
  explicit Code(pcre2_code* compiled) : code(compiled) {}
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;
  ~Code() { pcre2_code_free(code); }
  pcre2_code* code;
};

Regex::Regex(std::string_view pattern, std::string_view place) {
  if (pattern.size() > kMaxPatternBytes) {
    fail(ErrorCode::LimitExceeded, "{}: a pattern of {} bytes, at most {} are read", place,
         pattern.size(), kMaxPatternBytes);
  }
  const std::string translated = "(*LF)" + to_pcre2(pattern, place);  // the line terminator
  // The start optimization misses some matches (10.42, with its JIT compiler), and in these
  // patterns almost every position can begin a match.
  constexpr uint32_t kOptions = PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NO_START_OPTIMIZE;
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()),
                                   translated.size(), kOptions, &error, &offset, nullptr);
  if (code == nullptr) {
    fail(ErrorCode::Unsupported, "{}: the pattern '{}{}' does not compile: {}", place,
         pattern.substr(0, kShown), pattern.size() > kShown ? "..." : "", pcre2_message(error));
  }
  code_ = std::make_shared<const Code>(code);
  // If the system forbids executable memory, this fails and the interpreter is used.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
}

std::vector<TextRange> Regex::find_all(std::string_view text) const {
  std::vector<TextRange> found;
  Scratch& mine = scratch();
  pcre2_match_context* context = mine.context(text.size());
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const auto match = [&](size_t start, uint32_t options) {
    return pcre2_match(code_->code, subject, text.size(), start, PCRE2_NO_UTF_CHECK | options,
                       mine.data(), context);
  };
  Deadline deadline(text.size());
  size_t start = 0;
  for (size_t count = 0; start <= text.size(); ++count) {
    if (count % 32 == 31) {
      check_cancel();
      deadline.check();
    }
    int result = match(start, 0);
    if (result == PCRE2_ERROR_JIT_STACKLIMIT) result = match(start, PCRE2_NO_JIT);
    if (result == PCRE2_ERROR_NOMATCH) break;
    if (result < 0) {
      const auto code = result == PCRE2_ERROR_MATCHLIMIT || result == PCRE2_ERROR_HEAPLIMIT ||
                                result == PCRE2_ERROR_DEPTHLIMIT
                            ? ErrorCode::LimitExceeded
                            : ErrorCode::Internal;
      fail(code, "a tokenizer's pattern failed on {} bytes of text: {}", text.size(),
           pcre2_message(result));
    }
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(mine.data());
    const TextRange range{ends[0], ends[1]};
    // Skip an empty match right after the last match, which would repeat forever.
    if (range.begin == range.end && !found.empty() && found.back().end == range.end) {
      ++start;
      while (start < text.size() && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) {
        ++start;
      }
      continue;
    }
    found.push_back(range);
    start = range.end;
  }
  return found;
}

}  // namespace pippin::tokenizers
