#include "pippin/app/draft_choice.h"

#include "pippin/base/error.h"
#include "pippin/runtime/draft/draft_model.h"

namespace pippin::app {

std::shared_ptr<runtime::Drafts> open_drafts(const DraftChoice& choice,
                                             const runtime::LoadedModel& target,
                                             const ModelChoice& target_choice) {
  if (choice.source == "off" || choice.most == 0) return nullptr;
  runtime::DraftOptions options;
  if (choice.most > 0) options.most = std::min(options.most, choice.most);
  if (choice.source != "lookup") {
    ModelChoice draft = target_choice;
    draft.path = choice.source == "demo" ? std::string() : choice.source;
    draft.tokenizer.clear();
    draft.load.adapter.clear();
    draft.load.context = 0;
    with_context("--draft " + choice.source, [&] {
      const runtime::LoadedModel loaded = open_model(draft);
      options.model =
          std::make_shared<runtime::DraftModel>(loaded.model, target.tokenizer, loaded.tokenizer);
    });
  }
  return std::make_shared<runtime::Drafts>(options);
}

}  // namespace pippin::app
