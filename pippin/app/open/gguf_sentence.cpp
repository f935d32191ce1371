// The layers after a GGUF's encoder, as the files of sentence-transformers.
#include "pippin/app/open/gguf_model.h"
#include "pippin/base/error.h"
#include "pippin/io/gguf_metadata.h"
#include "pippin/models/gguf/gguf_keys.h"

namespace pippin::app {
namespace {

using models::GgufPooling;

// The pooling; nullopt for a model that does not embed.
std::optional<std::string_view> pooling_mode(const models::GgufKeys& keys) {
  const std::string_view architecture = keys.architecture();
  switch (models::gguf_pooling(keys)) {
    case GgufPooling::Mean:
      return "mean";
    case GgufPooling::First:
      return "cls";
    case GgufPooling::Last:
      return "lasttoken";
    case GgufPooling::Rank:
      return std::nullopt;
    case GgufPooling::None:
      break;
  }
  const bool encodes = architecture == "bert" || architecture == "nomic-bert" ||
                       architecture == "t5encoder" || architecture == "gemma-embedding" ||
                       architecture == "modern-bert";
  return encodes ? std::optional<std::string_view>("mean") : std::nullopt;
}

}  // namespace

std::vector<TextFile> gguf_sentence_files(const GgufContent& content, const std::string& name) {
  const GgufMetadata metadata(content, name);
  const std::string architecture = metadata.text("general.architecture").value_or("");
  const models::GgufKeys keys(metadata, architecture);
  const auto mode = pooling_mode(keys);
  if (!mode) return {};
  for (const char* dense : {"dense_2.weight", "dense_3.weight"}) {
    if (keys.has(dense)) metadata.unsupported(dense, "layers after the pooling are not read");
  }
  JsonWriter pooling(1);
  pooling.begin_object().member("pooling_mode", *mode).end_object();
  JsonWriter modules(1);
  modules.begin_array();
  for (const auto& [path, kind] : {std::pair("", "Transformer"), std::pair("1_Pooling", "Pooling"),
                                   std::pair("2_Normalize", "Normalize")}) {
    modules.begin_object().member("path", path);
    modules.member("type", std::string("sentence_transformers.models.") + kind).end_object();
  }
  modules.end_array();
  return {{"modules.json", modules.text() + "\n"},
          {"1_Pooling/config.json", pooling.text() + "\n"}};
}

}  // namespace pippin::app
