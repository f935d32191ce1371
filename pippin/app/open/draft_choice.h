// The option --draft: the source of drafts (runtime/draft/drafts.h).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "pippin/app/open/open_model.h"
#include "pippin/runtime/draft/drafts.h"

namespace pippin::app {

struct DraftChoice {
  // "auto": lookups, and the model's own prediction layer if it has one; "lookup"; "mtp": as
  // "auto", but the layer is required; "off"; or a model as for open_model(), next to lookups.
  std::string source = "auto";
  int64_t most = -1;  // per pass; negative: as many as a pass allows
};

// Whether it is one of the words above, not a model.
bool is_draft_word(const std::string& source);
// Whether the model has to be opened with its prediction layer (LoadOptions::prediction).
bool uses_prediction(const DraftChoice& choice);

// Null for "off". Opens the draft model as `target_choice` specifies. Throws as open_model(), and
// InvalidArgument if the vocabularies differ, and Unsupported for "mtp" if the model has no layer.
std::shared_ptr<runtime::Drafts> open_drafts(const DraftChoice& choice,
                                             const runtime::LoadedModel& target,
                                             const ModelChoice& target_choice);

// The same for a model without its tokenizer: the draft model must have the same number of tokens.
std::shared_ptr<runtime::Drafts> open_drafts(const DraftChoice& choice,
                                             const runtime::Model& target,
                                             const ModelChoice& target_choice);

}  // namespace pippin::app
