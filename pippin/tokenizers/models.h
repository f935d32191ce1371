// Models turn a piece of text into token ids.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "pippin/tokenizers/config.h"
#include "pippin/tokenizers/json_file.h"

namespace pippin::tokenizers {

class Model {
 public:
  // What one encode() keeps from piece to piece: buffers, words already seen.
  class Memory {
   public:
    virtual ~Memory() = default;
  };

  virtual ~Model() = default;
  virtual std::unique_ptr<Memory> new_memory() const = 0;
  // Appends the ids of `text`, which is not empty.
  virtual void tokenize(std::string_view text, Memory& memory, std::vector<int32_t>& ids) const = 0;

  // How many tokens the vocabulary lists: added tokens get the ids from here on.
  virtual int32_t size() const = 0;
  virtual int32_t max_id() const = 0;  // -1 where it is empty
  virtual std::optional<int32_t> token_to_id(std::string_view token) const = 0;
  virtual std::optional<std::string_view> id_to_token(int32_t id) const = 0;
};

std::unique_ptr<Model> make_model(const Config& config, JsonFile& file);

}  // namespace pippin::tokenizers
