#include "pippin/runtime/vision_prompt.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/runtime/row_ids.h"
#include "pippin/runtime/sequence.h"

namespace pippin::runtime {
namespace {

// The first of the rows that begin at token `count` or later.
auto rows_from(const VisionPrompt& prompt, int64_t count) {
  auto next = prompt.rows.begin();
  for (int64_t token = 0; token < count && next != prompt.rows.end();) {
    if (prompt.ids[static_cast<size_t>(token)] >= 0) {
      ++token;
      continue;
    }
    token += (*next)->count;
    ++next;
  }
  return next;
}

}  // namespace

void provide_rows(Sequence& sequence, const VisionPrompt& prompt, int64_t kept) {
  if (prompt.rows.empty()) return;
  sequence.withdraw_rows();
  for (auto rows = rows_from(prompt, kept); rows != prompt.rows.end(); ++rows) {
    sequence.provide(*rows);
  }
}

VisionPrompt prompt_after(const VisionPrompt& prompt, int64_t count) {
  if (count < 0 || count > std::ssize(prompt.ids)) {
    fail(ErrorCode::InvalidArgument, "{} tokens of a prompt of {}", count, prompt.ids.size());
  }
  if (count > 0 && with_whole_rows(prompt.ids, count) != count) {
    fail(ErrorCode::InvalidArgument, "token {} of the prompt is within an image", count);
  }
  return {{prompt.ids.begin() + static_cast<std::ptrdiff_t>(count), prompt.ids.end()},
          {rows_from(prompt, count), prompt.rows.end()}};
}

int64_t keepable(const Sequence& sequence, std::span<const int32_t> tokens,
                 std::span<const int32_t> ids) {
  const auto common =
      std::mismatch(tokens.begin(), tokens.end(), ids.begin(), ids.end()).first - tokens.begin();
  // The last token is fed again: an answer begins with the logits after it.
  const int64_t keep = reusable(ids, std::min<int64_t>(common, std::ssize(ids) - 1));
  if (keep == std::ssize(tokens)) return keep;
  if (keep <= 0 || !sequence.model().capabilities().truncate || keep < sequence.earliest()) {
    return 0;
  }
  return keep;
}

}  // namespace pippin::runtime
