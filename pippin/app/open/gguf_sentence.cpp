// The layers after a GGUF's encoder, as the files of sentence-transformers.
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

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
                       architecture == "modern-bert" || architecture == "jina-bert-v2" ||
                       architecture == "jina-bert-v3" || architecture == "nomic-bert-moe" ||
                       architecture == "eurobert";
  return encodes ? std::optional<std::string_view>("mean") : std::nullopt;
}

std::string modules_json(std::initializer_list<std::pair<const char*, const char*>> modules) {
  JsonWriter json(1);
  json.begin_array();
  for (const auto& [path, kind] : modules) {
    json.begin_object().member("path", path);
    json.member("type", std::string("sentence_transformers.models.") + kind).end_object();
  }
  return json.end_array().text() + "\n";
}

// A chat template for "{query}" and "{document}" in a text of the format's own programs: the
// contents of the last two messages.
std::string pair_template(std::string_view text) {
  constexpr std::pair<std::string_view, int> kPlaces[] = {{"{query}", 2}, {"{document}", 1}};
  std::string result;
  const auto literal = [&](std::string_view part) {
    if (part.empty()) return;
    JsonWriter json;
    json.value(part);
    result += fmt::format("{{{{ {} }}}}", json.text());
  };
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    for (const auto& [place, from_end] : kPlaces) {
      if (!text.substr(i).starts_with(place)) continue;
      literal(text.substr(begin, i - begin));
      result += fmt::format("{{{{ messages[-{}].content }}}}", from_end);
      begin = i + place.size();
    }
  }
  literal(text.substr(begin));
  return result;
}

// A decoder that scores a rendered pair by its head's rows for yes and no.
std::vector<TextFile> score_files(const models::GgufKeys& keys) {
  JsonWriter head(1);
  head.begin_object().member("true_token_id", 0);
  if (models::gguf_score_rows(keys) == 2) head.member("false_token_id", 1);
  head.end_object();
  std::vector<TextFile> files;
  files.push_back(
      {"modules.json", modules_json({{"", "Transformer"}, {"1_LogitScore", "LogitScore"}})});
  files.push_back({"1_LogitScore/config.json", head.text() + "\n"});
  if (const auto text = keys.metadata().text("tokenizer.chat_template.rerank")) {
    files.push_back({"chat_template.jinja", pair_template(*text)});
    files.push_back({"sentence_bert_config.json",
                     R"({"transformer_task": "text-generation",
 "modality_config": {"message": {"format": "flat"}}})"
                     "\n"});
  }
  return files;
}

}  // namespace

std::vector<TextFile> gguf_sentence_files(const GgufContent& content, const std::string& name) {
  const GgufMetadata metadata(content, name);
  const std::string architecture = metadata.text("general.architecture").value_or("");
  const models::GgufKeys keys(metadata, architecture);
  const bool scores = models::gguf_pooling(keys) == GgufPooling::Rank;
  if (scores && architecture != "bert") return score_files(keys);
  const auto mode = pooling_mode(keys);
  if (!mode) return {};
  for (const char* dense : {"dense_2.weight", "dense_3.weight"}) {
    if (keys.has(dense)) metadata.unsupported(dense, "layers after the pooling are not read");
  }
  JsonWriter pooling(1);
  pooling.begin_object().member("pooling_mode", *mode).end_object();
  return {
      {"modules.json",
       modules_json({{"", "Transformer"}, {"1_Pooling", "Pooling"}, {"2_Normalize", "Normalize"}})},
      {"1_Pooling/config.json", pooling.text() + "\n"}};
}

}  // namespace pippin::app
