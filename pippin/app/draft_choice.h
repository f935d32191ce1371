// What --draft means: where drafts of a model's texts come from (runtime/draft/drafts.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pippin/app/open_model.h"
#include "pippin/runtime/draft/drafts.h"

namespace pippin::app {

struct DraftChoice {
  std::string source = "lookup";  // or "off", or a model as open_model() takes it
  int64_t most = -1;              // of a pass; negative: as many as a pass may have
};

// Null for "off". The draft model is opened as `target_choice` says. Throws as open_model(), and
// InvalidArgument for one whose vocabulary is another one.
std::shared_ptr<runtime::Drafts> open_drafts(const DraftChoice& choice,
                                             const runtime::LoadedModel& target,
                                             const ModelChoice& target_choice);

// The same for a model without its tokenizer: a draft model has to have as many tokens.
std::shared_ptr<runtime::Drafts> open_drafts(const DraftChoice& choice,
                                             const runtime::Model& target,
                                             const ModelChoice& target_choice);

}  // namespace pippin::app
