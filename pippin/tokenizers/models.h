// Models, which turn a piece of text into token ids.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "pippin/tokenizers/stages.h"
#include "pippin/tokenizers/tables/json_file.h"
#include "pippin/tokenizers/vocabulary.h"

namespace pippin::tokenizers {

class Model {
 public:
  // State that one encode() keeps between pieces: buffers, words already encoded.
  class Memory {
   public:
    virtual ~Memory() = default;
  };

  virtual ~Model() = default;
  virtual std::unique_ptr<Memory> new_memory() const = 0;
  // Appends the ids of `text`, which is not empty.
  virtual void tokenize(std::string_view text, Memory& memory, std::vector<int32_t>& ids) const = 0;

  virtual const Vocabulary& vocabulary() const = 0;
  // The first id for added tokens.
  virtual int32_t size() const { return vocabulary().size(); }
  int32_t max_id() const { return vocabulary().max_id(); }  // -1 if the vocabulary is empty
  std::optional<int32_t> token_to_id(std::string_view token) const {
    return vocabulary().id_of(token);
  }
  std::optional<std::string_view> id_to_token(int32_t id) const {
    return vocabulary().token_of(id);
  }
};

// A model without state between pieces.
class MemorylessModel : public Model {
 public:
  std::unique_ptr<Memory> new_memory() const final { return std::make_unique<Memory>(); }
};

// Takes the tokens of a vocabulary that is an object; throws InvalidFile otherwise.
StringPool take_tokens(const Json& config, JsonFile& file);

std::unique_ptr<Model> make_model(const Json& config, JsonFile& file);

}  // namespace pippin::tokenizers
