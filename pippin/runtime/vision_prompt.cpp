#include "pippin/runtime/vision_prompt.h"

#include "pippin/runtime/sequence.h"

namespace pippin::runtime {

void provide_rows(Sequence& sequence, const VisionPrompt& prompt, int64_t kept) {
  if (prompt.rows.empty()) return;
  sequence.withdraw_rows();
  auto next = prompt.rows.begin();
  for (int64_t token = 0; token < std::ssize(prompt.ids) && next != prompt.rows.end();) {
    if (prompt.ids[static_cast<size_t>(token)] >= 0) {
      ++token;
      continue;
    }
    if (token >= kept) sequence.provide(*next);
    token += (*next)->count;
    ++next;
  }
}

}  // namespace pippin::runtime
