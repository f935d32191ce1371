#include <array>
#include <string>
#include <string_view>

#include "pippin/server/field_rules.h"

namespace pippin::server {
namespace {

struct EndpointName {
  FieldsOf endpoint;
  std::string_view name;
};
constexpr std::array<EndpointName, 16> kEndpoints = {{{kChat, "chat"},
                                                      {kCompletions, "completions"},
                                                      {kMessages, "messages"},
                                                      {kNative, "completion"},
                                                      {kEmbeddings, "embeddings"},
                                                      {kRerank, "rerank"},
                                                      {kScore, "score"},
                                                      {kResponses, "responses"},
                                                      {kOllama, "ollama"},
                                                      {kOllamaOptions, "ollama options"},
                                                      {kOllamaEmbed, "ollama embed"},
                                                      {kTranscriptions, "transcriptions"},
                                                      {kTranslations, "translations"},
                                                      {kInference, "inference"},
                                                      {kFiles, "files"},
                                                      {kBatches, "batches"}}};

std::string endpoints_of(const FieldRule& rule) {
  std::string text;
  for (const auto& [endpoint, name] : kEndpoints) {
    if ((rule.endpoints & endpoint) == 0) continue;
    text.append(text.empty() ? "" : ", ").append(name);
  }
  return text;
}

std::string treatment_of(const FieldRule& rule) {
  std::string text;
  if (rule.use == Use::Ignored) text = "ignored";
  if (rule.use == Use::Only) {
    text = rule.meaning == "[]" ? "400" : "400 unless in `" + std::string(rule.meaning) + "`";
  }
  if (rule.use == Use::Honoured && !rule.meaning.empty()) {
    text = "as `" + std::string(rule.meaning) + "`";
  }
  if (!rule.note.empty()) text.append(text.empty() ? "" : ": ").append(rule.note);
  return text;
}

}  // namespace

std::string fields_document() {
  std::string text =
      "# Fields of requests\n\n"
      "The treatment of each field by `pippin serve`. The server reads requests by this table, "
      "and its tests compare this\npage with it.\n\n"
      "- A field that would change the text is honoured, or gets 400 with its name.\n"
      "- A field that changes neither the text nor the rest of the answer is ignored.\n"
      "- A field that is not in the table is ignored, because clients keep adding new ones; the "
      "header `x-ignored-fields` of\n  the answer names it. The header also names a field that "
      "this model "
      "cannot follow.\n"
      "- null is the same as an absent field. Of two spellings of one field the first one here "
      "counts; the header names the\n  other one if its value differs.\n\n"
      "Endpoints: `chat` is `/v1/chat/completions`, `completions` `/v1/completions`, `messages` "
      "`/v1/messages`, `completion`\nllama-server's `/completion` and `/infill`, `embeddings` "
      "`/v1/embeddings`, `/embedding` and `/embed`,\n`rerank` `/v1/rerank` and its other "
      "spellings, "
      "`score` `/v1/score`, `responses` `/v1/responses`.\n`ollama` is `/api/chat` and "
      "`/api/generate`, `ollama options` their "
      "`options`, `ollama embed` `/api/embed` and\n`/api/embeddings`.\n`transcriptions` is "
      "`/v1/audio/transcriptions`, `translations` `/v1/audio/translations`, `inference` "
      "whisper.cpp's\n`/inference`: forms with a file. `files` is `/v1/files`, a form with a "
      "`file`; "
      "`batches` is `/v1/batches`.\n\n"
      "| field | endpoints | |\n|---|---|---|\n";
  for (const FieldRule& rule : field_rules()) {
    text.append("| `").append(rule.name).append("` | ").append(endpoints_of(rule));
    text.append(" | ").append(treatment_of(rule)).append(" |\n");
  }
  return text;
}

}  // namespace pippin::server
