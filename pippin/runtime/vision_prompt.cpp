#include "pippin/runtime/vision_prompt.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/runtime/row_ids.h"
#include "pippin/runtime/sequence.h"

namespace pippin::runtime {
namespace {

using RowSpan = std::span<const std::shared_ptr<const EmbeddedRows>>;

// The rows that begin at token `count` or later.
RowSpan rows_from(std::span<const int32_t> ids, RowSpan rows, int64_t count) {
  for (int64_t token = 0; token < count && !rows.empty();) {
    if (ids[static_cast<size_t>(token)] >= 0) {
      ++token;
      continue;
    }
    token += rows.front()->count;
    rows = rows.subspan(1);
  }
  return rows;
}

}  // namespace

void provide_rows(Sequence& sequence, const VisionPrompt& prompt, int64_t kept) {
  provide_rows(sequence, prompt.ids, prompt.rows, kept);
}

void provide_rows(Sequence& sequence, std::span<const int32_t> text, RowSpan rows, int64_t kept) {
  if (rows.empty()) return;
  sequence.withdraw_rows();
  for (const auto& run : rows_from(text, rows, kept)) sequence.provide(run);
}

VisionPrompt prompt_after(const VisionPrompt& prompt, int64_t count) {
  if (count < 0 || count > std::ssize(prompt.ids)) {
    fail(ErrorCode::InvalidArgument, "{} tokens of a prompt of {}", count, prompt.ids.size());
  }
  if (count > 0 && with_whole_rows(prompt.ids, count) != count) {
    fail(ErrorCode::InvalidArgument, "token {} of the prompt is within an image", count);
  }
  const RowSpan rows = rows_from(prompt.ids, prompt.rows, count);
  return {{prompt.ids.begin() + static_cast<std::ptrdiff_t>(count), prompt.ids.end()},
          {rows.begin(), rows.end()}};
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
