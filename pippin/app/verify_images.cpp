// verify() for vision-language models.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "pippin/app/open/open_model.h"
#include "pippin/app/prompt_tokens.h"
#include "pippin/app/verify.h"
#include "pippin/base/error.h"
#include "pippin/runtime/vision_prompt.h"

namespace pippin::app {
namespace {

using ImageRuns = std::vector<std::shared_ptr<const runtime::EmbeddedRows>>;

void refuse_step_limits(const VerifyLimits& limits) {
  if (limits.max_step_difference || limits.max_prefill_difference || limits.max_part_difference) {
    fail(ErrorCode::InvalidArgument,
         "with images, differences of steps, prefill and parts are not measured");
  }
}

// A prompt has the same tokens in both models, and images the same numbers of rows.
void check_same_prompt(const runtime::VisionPrompt& mine, const runtime::VisionPrompt& theirs) {
  const bool same =
      std::equal(mine.ids.begin(), mine.ids.end(), theirs.ids.begin(), theirs.ids.end(),
                 [](int32_t a, int32_t b) { return a == b || (a < 0 && b < 0); });
  const bool fits = same && std::equal(mine.rows.begin(), mine.rows.end(), theirs.rows.begin(),
                                       theirs.rows.end(), [](const auto& a, const auto& b) {
                                         return a->count == b->count && a->width == b->width;
                                       });
  if (fits) return;
  fail(ErrorCode::InvalidArgument,
       "the models make different prompts of the images and the text: {} tokens with {} runs of "
       "rows, and {} with {}",
       mine.ids.size(), mine.rows.size(), theirs.ids.size(), theirs.rows.size());
}

double largest_difference(const ImageRuns& mine, const ImageRuns& theirs) {
  double difference = 0, largest = 0;
  for (size_t run = 0; run < mine.size(); ++run) {
    const std::vector<float>&a = mine[run]->values, &b = theirs[run]->values;
    for (size_t i = 0; i < a.size(); ++i) {
      difference = std::max(difference, std::abs(double{a[i]} - double{b[i]}));
      largest = std::max(largest, std::abs(double{b[i]}));
    }
  }
  return largest > 0 ? difference / largest : difference;
}

// The rows under the ids that the other prompt has for them.
ImageRuns with_digests_of(const ImageRuns& rows, const ImageRuns& others) {
  ImageRuns result;
  result.reserve(rows.size());
  for (size_t run = 0; run < rows.size(); ++run) {
    auto copy = std::make_shared<runtime::EmbeddedRows>(*rows[run]);
    copy->digest = others[run]->digest;
    result.push_back(std::move(copy));
  }
  return result;
}

}  // namespace

VerifyResult verify_images(const ModelChoice& model, const ModelChoice& source,
                           const TokenInput& tokens, const VerifyOptions& options) {
  check_limits(options.limits);
  refuse_step_limits(options.limits);
  const std::vector<runtime::ImageFile> images = image_files(tokens.images);
  const auto prompt_of = [&](const runtime::LoadedModel& loaded) {
    return text_prompt(loaded, tokens.text.value_or(""), /*add_special_tokens=*/true, images);
  };
  const runtime::LoadedModel original = open_model(source), checked = open_model(model);
  const runtime::VisionPrompt theirs = prompt_of(original), mine = prompt_of(checked);
  check_same_prompt(mine, theirs);
  VerifyOptions own = options;
  own.agreement.source_rows = theirs.rows;
  own.agreement.rows = with_digests_of(mine.rows, theirs.rows);
  VerifyResult result;
  result.agreement =
      runtime::compare_models(*checked.model, *original.model, theirs.ids, own.agreement);
  result.agreement.image_difference = largest_difference(mine.rows, theirs.rows);
  result.broken = broken_limits(options.limits, result.agreement);
  return result;
}

}  // namespace pippin::app
