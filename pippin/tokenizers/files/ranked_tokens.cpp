#include "pippin/tokenizers/files/ranked_tokens.h"

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/io/json.h"
#include "pippin/tokenizers/byte_level.h"

namespace pippin::tokenizers {
namespace {

constexpr size_t kLongestToken = 1024;

class RankedTokens {
 public:
  RankedTokens(std::span<const std::string_view> tokens, const std::string& name) {
    ranks_.reserve(tokens.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i].size() > kLongestToken) {
        fail(ErrorCode::LimitExceeded, "{}: token {} has {} bytes, at most {}", name, i,
             tokens[i].size(), kLongestToken);
      }
      if (ranks_.emplace(tokens[i], i).second) continue;
      fail(ErrorCode::InvalidFile, "{}: tokens {} and {} are equal", name, ranks_[tokens[i]], i);
    }
  }

  // The last merge by which BPE makes a token from its bytes; nothing for a byte, and for a token
  // that merges of lower ranks do not lead to.
  std::optional<std::pair<std::string_view, std::string_view>> merge_of(
      std::string_view token) const {
    const size_t own = ranks_.at(token);
    std::vector<std::string_view> parts;
    parts.reserve(token.size());
    for (size_t i = 0; i < token.size(); ++i) parts.push_back(token.substr(i, 1));
    while (parts.size() > 2) {
      size_t best = own, place = 0;
      for (size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto found = ranks_.find({parts[i].data(), parts[i].size() + parts[i + 1].size()});
        if (found == ranks_.end() || found->second >= best) continue;
        best = found->second;
        place = i;
      }
      if (best == own) return std::nullopt;
      parts[place] = {parts[place].data(), parts[place].size() + parts[place + 1].size()};
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(place) + 1);
    }
    if (parts.size() < 2) return std::nullopt;
    return std::pair(parts[0], parts[1]);
  }

 private:
  std::unordered_map<std::string_view, size_t> ranks_;
};

}  // namespace

std::string ranked_tokenizer_json(std::span<const std::string_view> tokens,
                                  std::span<const std::string> specials, const std::string& name) {
  const RankedTokens ranked(tokens, name);
  JsonWriter json;
  json.begin_object().member("version", "1.0").key("added_tokens").begin_array();
  for (size_t i = 0; i < specials.size(); ++i) {
    json.begin_object().member("id", tokens.size() + i).member("content", specials[i]);
    json.member("single_word", false).member("lstrip", false).member("rstrip", false);
    json.member("normalized", false).member("special", true).end_object();
  }
  json.end_array();
  for (const char* stage : {"pre_tokenizer", "decoder"}) {
    json.key(stage).begin_object().member("type", "ByteLevel").member("add_prefix_space", false);
    json.member("trim_offsets", true).member("use_regex", true).end_object();
  }
  json.key("model").begin_object().member("type", "BPE").key("vocab").begin_object();
  for (size_t i = 0; i < tokens.size(); ++i) json.member(bytes_to_characters(tokens[i]), i);
  json.end_object().key("merges").begin_array();
  for (const std::string_view token : tokens) {
    const auto merge = ranked.merge_of(token);
    if (!merge) continue;
    json.value(fmt::format("{} {}", bytes_to_characters(merge->first),
                           bytes_to_characters(merge->second)));
  }
  json.end_array().end_object();
  return json.end_object().text();
}

}  // namespace pippin::tokenizers
