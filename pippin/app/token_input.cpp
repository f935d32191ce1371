#include "pippin/app/token_input.h"

#include <utility>

#include "pippin/app/prompt_tokens.h"

namespace pippin::app {

ModelWithTokens open_with_tokens(const ModelChoice& choice, const TokenInput& tokens) {
  if (!tokens.text) return {open_runnable(choice), tokens.ids};
  runtime::LoadedModel loaded = open_model(choice);
  runtime::VisionPrompt prompt =
      text_prompt(loaded, *tokens.text, /*add_special_tokens=*/true, image_files(tokens.images));
  return {std::move(loaded), std::move(prompt.ids), std::move(prompt.rows)};
}

}  // namespace pippin::app
