#include "pippin/runtime/prompt_file.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/runtime/row_ids.h"

namespace pippin::runtime {

int64_t restore_prompt(Sequence& sequence, const std::filesystem::path& path,
                       std::span<const int32_t> prompt) {
  if (prompt.empty()) return 0;
  try {
    sequence.restore(path);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Cancelled) throw;
    if (error.code() != ErrorCode::NotFound) {
      log_warn("{}; the prompt is read anew", error.what());
    }
    return 0;
  }
  const auto tokens = sequence.tokens();
  const size_t most = std::min(tokens.size(), prompt.size() - 1);
  const auto equal =
      std::mismatch(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(most), prompt.begin())
          .first -
      tokens.begin();
  const int64_t same = reusable(prompt, equal);
  const bool is_of_use = same > 0 && (same == std::ssize(tokens) || same >= sequence.earliest());
  log_debug("{}: has {} tokens, of which the prompt begins with {}{}", path.string(), tokens.size(),
            same, is_of_use ? "" : "; a sequence of this model cannot go back");
  if (!is_of_use) {
    sequence.reset();
    return 0;
  }
  sequence.truncate(same);
  return same;
}

void save_prompt(Sequence& sequence, const std::filesystem::path& path) {
  try {
    sequence.save(path);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Cancelled) throw;
    log_warn("the prompt cache is not saved: {}", error.what());
  }
}

}  // namespace pippin::runtime
