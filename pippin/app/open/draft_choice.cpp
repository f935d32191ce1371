#include "pippin/app/open/draft_choice.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/runtime/draft/draft_model.h"

namespace pippin::app {

namespace {

// `open` returns the draft model.
template <typename Open>
std::shared_ptr<runtime::Drafts> open_with(const DraftChoice& choice,
                                           const ModelChoice& target_choice, Open&& open) {
  if (choice.source == "off" || choice.most == 0) return nullptr;
  runtime::DraftOptions options;
  if (choice.most > 0) options.most = std::min(options.most, choice.most);
  if (choice.source != "lookup") {
    ModelChoice draft = target_choice;
    draft.path = choice.source == "demo" ? std::string() : choice.source;
    draft.tokenizer.clear();
    draft.load.adapter.clear();
    draft.load.mmproj = runtime::kNoProjector;
    draft.load.context = 0;
    with_context("--draft " + choice.source, [&] { options.model = open(draft); });
  }
  return std::make_shared<runtime::Drafts>(options);
}

}  // namespace

std::shared_ptr<runtime::Drafts> open_drafts(const DraftChoice& choice,
                                             const runtime::LoadedModel& target,
                                             const ModelChoice& target_choice) {
  return open_with(choice, target_choice, [&](const ModelChoice& draft) {
    const runtime::LoadedModel loaded = open_model(draft);
    return std::make_shared<runtime::DraftModel>(loaded.model, target.tokenizer, loaded.tokenizer);
  });
}

std::shared_ptr<runtime::Drafts> open_drafts(const DraftChoice& choice,
                                             const runtime::Model& target,
                                             const ModelChoice& target_choice) {
  return open_with(choice, target_choice, [&](const ModelChoice& draft) {
    return std::make_shared<runtime::DraftModel>(open_runnable(draft).model, target);
  });
}

}  // namespace pippin::app
