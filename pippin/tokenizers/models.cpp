#include "pippin/tokenizers/models.h"

#include <nlohmann/json.hpp>

#include "pippin/tokenizers/bpe.h"

namespace pippin::tokenizers {
namespace {

struct ModelKind {
  std::string_view name;
  std::unique_ptr<Model> (*make)(const Config& config, JsonFile& file);
};

constexpr ModelKind kKinds[] = {
    {"BPE", make_bpe},
};

}  // namespace

std::unique_ptr<Model> make_model(const Config& config, JsonFile& file) {
  if (!config.node().is_object()) config.invalid("an object is needed here");
  // Old files do not name the model; only BPE has merges.
  const std::string type = config.has("type") ? config.string("type")
                           : file.has_merges  ? "BPE"
                                              : "(without a type)";
  for (const auto& kind : kKinds) {
    if (kind.name == type) return kind.make(config, file);
  }
  config.unsupported_kind("model", type);
}

}  // namespace pippin::tokenizers
