#include "pippin/app/token_input.h"

namespace pippin::app {

ModelWithTokens open_with_tokens(const ModelChoice& choice, const TokenInput& tokens) {
  if (!tokens.text) return {open_runnable(choice), tokens.ids};
  runtime::LoadedModel loaded = open_model(choice);
  std::vector<int32_t> ids = loaded.tokenizer.encode(*tokens.text);
  return {std::move(loaded), std::move(ids)};
}

}  // namespace pippin::app
