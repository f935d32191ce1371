#include "pippin/tokenizers/models.h"

#include <algorithm>

#include "pippin/base/error.h"
#include "pippin/tokenizers/bpe.h"
#include "pippin/tokenizers/unigram.h"
#include "pippin/tokenizers/word_models.h"

namespace pippin::tokenizers {
namespace {

struct ModelKind {
  std::string_view name;
  std::unique_ptr<Model> (*make)(const Json& config, JsonFile& file);
};

constexpr ModelKind kModelKinds[] = {
    {"BPE", make_bpe},
    {"Unigram", make_unigram},
    {"WordPiece", make_word_piece},
    {"WordLevel", make_word_level},
};

// Old files do not name the model, so its keys identify it.
std::string_view kind_of_old_file(const Json& config, const JsonFile& file) {
  if (file.has_merges) return "BPE";
  if (config.has("continuing_subword_prefix") && config.has("max_input_chars_per_word")) {
    return "WordPiece";
  }
  if (file.has_vocab && config.has("unk_token")) return "WordLevel";
  if (file.has_scores) return "Unigram";
  return "(without a type)";
}

}  // namespace

std::unique_ptr<Model> make_model(const Json& config, JsonFile& file) {
  const std::string type = config.get_string_or("type", kind_of_old_file(config, file));
  for (const auto& kind : kModelKinds) {
    if (kind.name == type) return kind.make(config, file);
  }
  unsupported_kind(config, "model", type);
}

StringPool take_tokens(const Json& config, JsonFile& file) {
  if (!file.has_vocab) config.invalid("the key 'vocab' is missing or not an object");
  // Ids up to the largest one take space, here and in every table over all tokens.
  const auto& ids = file.vocab_ids;
  const size_t most = 65'536 + 16 * ids.size();
  const auto largest = std::max_element(ids.begin(), ids.end());
  if (largest != ids.end() && *largest >= 0 && static_cast<size_t>(*largest) >= most) {
    fail(ErrorCode::LimitExceeded, "{}.vocab: the id {}, where {} tokens may have ids below {}",
         config.where(), *largest, ids.size(), most);
  }
  return std::move(file.vocab_tokens);
}

}  // namespace pippin::tokenizers
