#include "pippin/app/open/draft_choice.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/runtime/draft/draft_model.h"

namespace pippin::app {

namespace {

// `open` returns the draft model.
template <typename Open>
std::shared_ptr<runtime::Drafts> open_with(const DraftChoice& choice, const runtime::Model& target,
                                           const ModelChoice& target_choice, Open&& open) {
  if (choice.source == "off" || choice.most == 0) return nullptr;
  if (choice.source == "mtp" && !target.capabilities().predicts) {
    fail(ErrorCode::Unsupported,
         "--draft mtp: the model has no multi-token prediction layer that can be used");
  }
  runtime::DraftOptions options;
  options.prediction = uses_prediction(choice);
  if (choice.most > 0) options.most = std::min(options.most, choice.most);
  if (!is_draft_word(choice.source)) {
    ModelChoice draft = target_choice;
    draft.path = choice.source == "demo" ? std::string() : choice.source;
    draft.tokenizer.clear();
    draft.load.adapter.clear();
    draft.load.run_adapters.clear();
    draft.load.mmproj = runtime::kNoProjector;
    draft.load.context = 0;
    draft.load.prediction = false;
    with_context("--draft " + choice.source, [&] { options.model = open(draft); });
  }
  return std::make_shared<runtime::Drafts>(options);
}

}  // namespace

bool is_draft_word(const std::string& source) {
  return source == "auto" || source == "lookup" || source == "mtp" || source == "off";
}

bool uses_prediction(const DraftChoice& choice) {
  return choice.most != 0 && (choice.source == "auto" || choice.source == "mtp");
}

std::shared_ptr<runtime::Drafts> open_drafts(const DraftChoice& choice,
                                             const runtime::LoadedModel& target,
                                             const ModelChoice& target_choice) {
  return open_with(choice, *target.model, target_choice, [&](const ModelChoice& draft) {
    const runtime::LoadedModel loaded = open_model(draft);
    return std::make_shared<runtime::DraftModel>(loaded.model, target.tokenizer, loaded.tokenizer);
  });
}

std::shared_ptr<runtime::Drafts> open_drafts(const DraftChoice& choice,
                                             const runtime::Model& target,
                                             const ModelChoice& target_choice) {
  return open_with(choice, target, target_choice, [&](const ModelChoice& draft) {
    return std::make_shared<runtime::DraftModel>(open_runnable(draft).model, target);
  });
}

}  // namespace pippin::app
