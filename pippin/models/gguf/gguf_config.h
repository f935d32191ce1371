// Collects the members of config.json from a GGUF's metadata and tensors.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/io/json.h"
#include "pippin/models/gguf/gguf_keys.h"

namespace pippin::models {

// Members of a JSON object; a later value of a member replaces an earlier one.
class JsonMembers {
 public:
  template <typename T>
  void set(std::string_view member, const T& value) {
    JsonWriter json;
    json.value(value);
    set_json(member, json.text());
  }
  void set_json(std::string_view member, std::string json) {
    members_.insert_or_assign(std::string(member), std::move(json));
  }
  void erase(std::string_view member) { members_.erase(std::string(member)); }
  std::string text() const;

 protected:
  std::map<std::string, std::string> members_;
};

class GgufConfig : public JsonMembers {
 public:
  // `keys` must outlive this.
  explicit GgufConfig(const GgufKeys& keys);

  const GgufKeys& keys() const { return keys_; }
  // Sets the member of a GgufField (gguf_architectures.h); does nothing if its source is absent.
  void set_from(std::string_view member, std::string_view source);
  // A member that is a whole number; nullopt if it has another type or is absent.
  std::optional<int64_t> size(std::string_view member) const;

  // Whether any block has a tensor "blk.N.NAME", with any suffix.
  bool has_in_blocks(std::string_view name) const { return find_in_blocks(name) != nullptr; }
  // The first block's; null if no block has it.
  const GgufTensor* find_in_blocks(std::string_view name) const;
  // Names of modules and tensors of blocks: "attn_q", "ssm_a".
  std::vector<std::string> block_modules() const;
  // Blocks that are layers of the model, without multi-token prediction blocks.
  int64_t layers() const { return layers_; }
  // A number for each layer: a list, or one for all. Throws InvalidFile for a list of another
  // length.
  std::vector<int64_t> by_layer(std::string_view key) const;
  // For each layer, 1 if its block has a tensor of that name, with any suffix.
  std::vector<int64_t> layers_with(std::string_view name) const;
  // Sets `member` to a list of names: `positive` for layers whose number is not 0.
  void set_kinds(std::string_view member, const std::vector<int64_t>& numbers,
                 std::string_view positive, std::string_view zero);

  // For a class whose ropes are scaled by default: writes a rope without scaling where the file has
  // none.
  void write_plain_rope();

 private:
  const GgufKeys& keys_;
  int64_t layers_ = 0;
  std::map<std::string, const GgufTensor*, std::less<>> blocks_;
};

}  // namespace pippin::models
