// The fields of requests and how each is treated: one table for the readers, the document
// (docs/fields.md) and the tests.
//
// A field that is not in the table is ignored, since clients send ever new ones, and the answer
// says so (x-ignored-fields). A field that would change the text is honoured or refused by name.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pippin::server {

// Endpoints whose requests have fields in common; a sum is a set of them.
using FieldsOf = uint32_t;
constexpr FieldsOf kChat = 1;             // /v1/chat/completions
constexpr FieldsOf kCompletions = 2;      // /v1/completions
constexpr FieldsOf kMessages = 4;         // /v1/messages
constexpr FieldsOf kNative = 8;           // /completion and /infill, as llama-server has them
constexpr FieldsOf kEmbeddings = 16;      // /v1/embeddings
constexpr FieldsOf kRerank = 32;          // /v1/rerank, /v2/rerank, /rerank
constexpr FieldsOf kScore = 64;           // /v1/score
constexpr FieldsOf kResponses = 128;      // /v1/responses
constexpr FieldsOf kOllama = 256;         // /api/chat and /api/generate, as ollama has them
constexpr FieldsOf kOllamaOptions = 512;  // the members of their `options`
constexpr FieldsOf kOllamaEmbed = 1024;   // /api/embed and /api/embeddings

enum class Use : uint8_t {
  Honoured,
  Only,     // accepted with values that change nothing, else 400
  Ignored,  // it changes neither the text nor the rest of the answer
};

struct FieldRule {
  std::string_view name;  // as clients write it
  FieldsOf endpoints = 0;
  Use use = Use::Ignored;
  std::string_view meaning;  // Honoured: which field it is, empty: itself; Only: the values, a JSON
                             // list; null is always one
  std::string_view note;     // for the document
};

std::span<const FieldRule> field_rules();
// Null if the endpoint has no rule for the name.
const FieldRule* find_rule(std::string_view name, FieldsOf endpoint);

// docs/fields.md.
std::string fields_document();

}  // namespace pippin::server
