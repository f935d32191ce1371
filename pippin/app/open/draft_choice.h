// The option --draft: the source of drafts (runtime/draft/drafts.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pippin/app/open/open_model.h"
#include "pippin/runtime/draft/drafts.h"

namespace pippin::app {

struct DraftChoice {
  std::string source = "lookup";  // or "off", or a model as for open_model()
  int64_t most = -1;              // per pass; negative: as many as a pass allows
};

// Null for "off". Opens the draft model as `target_choice` specifies. Throws as open_model(), and
// InvalidArgument if the vocabularies differ.
std::shared_ptr<runtime::Drafts> open_drafts(const DraftChoice& choice,
                                             const runtime::LoadedModel& target,
                                             const ModelChoice& target_choice);

// The same for a model without its tokenizer: the draft model must have the same number of tokens.
std::shared_ptr<runtime::Drafts> open_drafts(const DraftChoice& choice,
                                             const runtime::Model& target,
                                             const ModelChoice& target_choice);

}  // namespace pippin::app
