// A prompt with images, as a sequence takes it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pippin/base/export.h"
#include "pippin/runtime/embedded_rows.h"

namespace pippin::runtime {

class Sequence;

// The tokens of a prompt, and the rows of its images.
struct VisionPrompt {
  // The ids: of text, and of each row of an image (row_ids.h), which are negative.
  std::vector<int32_t> ids;
  // The rows, in the order of their ids. None: the prompt is text.
  std::vector<std::shared_ptr<const EmbeddedRows>> rows;
};

// Gives a sequence that already has the first `kept` tokens of the prompt the rows of the others.
// Throws the errors of Sequence::provide().
PIPPIN_API void provide_rows(Sequence& sequence, const VisionPrompt& prompt, int64_t kept);
// The same for the rows of a text that begins with such a prompt.
PIPPIN_API void provide_rows(Sequence& sequence, std::span<const int32_t> text,
                             std::span<const std::shared_ptr<const EmbeddedRows>> rows,
                             int64_t kept);

// Returns the prompt without its first `count` tokens. Throws InvalidArgument for more tokens than
// it has, and if it would begin within an image.
PIPPIN_API VisionPrompt prompt_after(const VisionPrompt& prompt, int64_t count);

// Returns how many of `tokens`, the first of which are those of a sequence, the sequence can keep
// to be continued to `ids`: fewer than there are ids. 0 if it cannot be truncated to their common
// prefix.
PIPPIN_API int64_t keepable(const Sequence& sequence, std::span<const int32_t> tokens,
                            std::span<const int32_t> ids);

}  // namespace pippin::runtime
