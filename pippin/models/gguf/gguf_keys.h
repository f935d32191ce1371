// Reads a GGUF's metadata of one architecture, whose keys begin with its name, and writes the
// configuration.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "pippin/io/gguf_metadata.h"
#include "pippin/io/json.h"

namespace pippin::models {

class GgufKeys {
 public:
  // Both must outlive this.
  GgufKeys(const GgufMetadata& metadata, std::string_view architecture)
      : metadata_(metadata), architecture_(architecture) {}

  const GgufMetadata& metadata() const { return metadata_; }
  std::string_view architecture() const { return architecture_; }
  // "llama.block_count".
  std::string full(std::string_view name) const;
  std::optional<int64_t> size(std::string_view name) const { return metadata_.size(full(name)); }
  std::optional<double> number(std::string_view name) const { return metadata_.number(full(name)); }
  // Throw InvalidFile if it is absent. A size may be one for all layers, or as many equal ones;
  // Unsupported if they differ.
  int64_t required_size(std::string_view name) const;
  double required_number(std::string_view name) const;
  // Rows of the matrix of that name; InvalidFile if it is absent.
  int64_t rows(std::string_view tensor) const;
  bool has(std::string_view tensor) const { return metadata_.tensor(tensor) != nullptr; }
  bool has_key(std::string_view name) const { return metadata_.find(full(name)) != nullptr; }

  [[noreturn]] void unsupported(std::string_view name, std::string_view what) const {
    metadata_.unsupported(full(name), what);
  }

 private:
  const GgufMetadata& metadata_;
  std::string_view architecture_;
};

// The pooling of an architecture's states to an embedding or a score.
enum class GgufPooling { None = 0, Mean = 1, First = 2, Last = 3, Rank = 4 };
// None if absent; Unsupported for another number.
GgufPooling gguf_pooling(const GgufKeys& keys);

// The head of a decoder that scores a rendered pair of texts: rows for yes and no, or one row.
inline constexpr std::string_view kGgufScoreHead = "cls.output";
// Its rows. InvalidFile if there is no such matrix, Unsupported for more than two.
int64_t gguf_score_rows(const GgufKeys& keys);

// In a configuration made here: the score comes from the head only, without BERT's pooler.
inline constexpr std::string_view kGgufBareHead = "gguf_bare_head";

// Write members of config.json (gguf_encoder_config.cpp).
void write_gguf_bert(const GgufKeys& keys, JsonWriter& json);
void write_gguf_nomic_bert(const GgufKeys& keys, JsonWriter& json);
void write_gguf_t5(const GgufKeys& keys, JsonWriter& json);
void write_gguf_t5_encoder(const GgufKeys& keys, JsonWriter& json);

}  // namespace pippin::models
