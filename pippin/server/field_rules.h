// The fields of requests and their treatment: one table for the readers, the document
// (docs/fields.md) and the tests.
//
// A field that is not in the table is ignored, because clients keep adding new ones, and the answer
// reports it (x-ignored-fields). A field that would change the text is either honoured or refused
// by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pippin::server {

// Endpoints whose requests share fields; a sum denotes a set of them.
using FieldsOf = uint32_t;
constexpr FieldsOf kChat = 1;               // /v1/chat/completions
constexpr FieldsOf kCompletions = 2;        // /v1/completions
constexpr FieldsOf kMessages = 4;           // /v1/messages
constexpr FieldsOf kNative = 8;             // /completion and /infill, in llama-server's form
constexpr FieldsOf kEmbeddings = 16;        // /v1/embeddings
constexpr FieldsOf kRerank = 32;            // /v1/rerank, /v2/rerank, /rerank
constexpr FieldsOf kScore = 64;             // /v1/score
constexpr FieldsOf kResponses = 128;        // /v1/responses
constexpr FieldsOf kOllama = 256;           // /api/chat and /api/generate, in ollama's form
constexpr FieldsOf kOllamaOptions = 512;    // the members of their `options`
constexpr FieldsOf kOllamaEmbed = 1024;     // /api/embed and /api/embeddings
constexpr FieldsOf kTranscriptions = 2048;  // /v1/audio/transcriptions
constexpr FieldsOf kTranslations = 4096;    // /v1/audio/translations
constexpr FieldsOf kInference = 8192;       // /inference, in whisper.cpp's form
constexpr FieldsOf kFiles = 16384;          // /v1/files: a form
constexpr FieldsOf kBatches = 32768;        // /v1/batches

enum class Use : uint8_t {
  Honoured,
  Only,     // accepted with values that change nothing, else 400
  Ignored,  // changes neither the text nor the rest of the answer
};

struct FieldRule {
  std::string_view name;  // as clients write it
  FieldsOf endpoints = 0;
  Use use = Use::Ignored;
  std::string_view meaning;  // Honoured: the field that it means, empty: itself; Only: the values
                             // accepted besides null, a JSON list
  std::string_view note;     // for the document
};

std::span<const FieldRule> field_rules();
// Returns null if the endpoint has no rule for the name.
const FieldRule* find_rule(std::string_view name, FieldsOf endpoint);

// Returns docs/fields.md.
std::string fields_document();

}  // namespace pippin::server
