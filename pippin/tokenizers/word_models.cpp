#include "pippin/tokenizers/word_models.h"

#include <string>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/tokenizers/prefix_trie.h"

namespace pippin::tokenizers {
namespace {

// The token for unknown words. A missing token is an error only if it is needed.
class Unknown {
 public:
  Unknown(const Json& config, const Vocabulary& vocabulary)
      : token_(config.get_string("unk_token")), id_(vocabulary[token_]) {}
  int32_t id() const {
    if (id_ < 0) {
      fail(ErrorCode::InvalidFile, "a tokenizer's unk_token '{}' is not in its vocabulary", token_);
    }
    return id_;
  }

 private:
  std::string token_;
  int32_t id_;
};

class WordLevel final : public MemorylessModel {
 public:
  WordLevel(const Json& config, JsonFile& file)
      : vocabulary_(take_tokens(config, file), file.vocab_ids), unknown_(config, vocabulary_) {}
  void tokenize(std::string_view text, Memory& /*memory*/,
                std::vector<int32_t>& ids) const override {
    const int32_t id = vocabulary_[text];
    ids.push_back(id >= 0 ? id : unknown_.id());
  }
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  Vocabulary vocabulary_;
  Unknown unknown_;
};

class WordPiece final : public MemorylessModel {
 public:
  WordPiece(const Json& config, JsonFile& file)
      : vocabulary_(take_tokens(config, file), file.vocab_ids),
        unknown_(config, vocabulary_),
        prefix_(config.get_string("continuing_subword_prefix")),
        max_characters_(integer(config.at("max_input_chars_per_word"), 0, INT64_MAX)),
        beginnings_(entries(""), config.where()),
        continuations_(entries(prefix_), config.where()) {}

  void tokenize(std::string_view text, Memory& /*memory*/,
                std::vector<int32_t>& ids) const override {
    const size_t before = ids.size();
    if (characters(text) > max_characters_) {
      ids.push_back(unknown_.id());
      return;
    }
    for (size_t begin = 0; begin < text.size();) {
      int32_t id = -1;
      size_t end = begin;
      const PrefixTrie& tree = begin == 0 ? beginnings_ : continuations_;
      tree.prefixes(text, begin, [&](int32_t found, size_t found_end) {
        id = found;
        end = found_end;
      });
      if (id < 0) {  // a word with an unknown part is unknown as a whole
        ids.resize(before);
        ids.push_back(unknown_.id());
        return;
      }
      ids.push_back(id);
      begin = end;
    }
  }
  const Vocabulary& vocabulary() const override { return vocabulary_; }

 private:
  std::vector<PrefixTrie::Entry> entries(std::string_view prefix) const {
    std::vector<PrefixTrie::Entry> result;
    const StringPool& tokens = vocabulary_.tokens();
    for (size_t i = 0; i < tokens.size(); ++i) {
      const std::string_view token = tokens[i];
      if (!token.starts_with(prefix)) continue;
      result.emplace_back(token.substr(prefix.size()), vocabulary_[token]);
    }
    return result;
  }
  static int64_t characters(std::string_view text) {
    int64_t count = 0;
    for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    return count;
  }

  Vocabulary vocabulary_;
  Unknown unknown_;
  std::string prefix_;
  int64_t max_characters_;
  PrefixTrie beginnings_, continuations_;
};

}  // namespace

std::unique_ptr<Model> make_word_piece(const Json& config, JsonFile& file) {
  return std::make_unique<WordPiece>(config, file);
}

std::unique_ptr<Model> make_word_level(const Json& config, JsonFile& file) {
  return std::make_unique<WordLevel>(config, file);
}

}  // namespace pippin::tokenizers
