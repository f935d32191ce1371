// The internals of a LanguageModel, for bindings to other languages that expose parts of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pippin/api/llm.h"
#include "pippin/app/answer_form.h"
#include "pippin/runtime/draft/drafts.h"
#include "pippin/runtime/open/loaded_model.h"
#include "pippin/runtime/text.h"

namespace pippin {

// The enclosing class is visible outside of the shared library (base/export.h).
#define PIPPIN_LOCAL __attribute__((visibility("hidden")))

struct PIPPIN_LOCAL LanguageModelParts {
  // Valid as long as any copy of the model.
  static const LanguageModelParts& of(const LanguageModel& model) { return *model.parts_; }

  // Converts settings for the generation loop; caches compiled forms. Throws as
  // LanguageModel::generate() does for forms.
  runtime::TextOptions options(const TextSettings& settings) const;
  std::vector<int32_t> dry_breakers() const;  // LanguageModel::default_dry_breakers()
  // Throws InvalidArgument for a sequence of another model.
  void check(const Sequence& sequence) const;

  std::string name;
  runtime::LoadedModel model;
  std::vector<int32_t> end_ids;
  std::unique_ptr<app::FormCompiler> forms;
  std::shared_ptr<runtime::Drafts> drafts;  // lookup drafts
};

#undef PIPPIN_LOCAL

}  // namespace pippin
