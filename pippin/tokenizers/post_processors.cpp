#include "pippin/tokenizers/post_processors.h"

#include <algorithm>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/tokenizers/json_file.h"

namespace pippin::tokenizers {
namespace {

using Made = std::unique_ptr<PostProcessor>;
using Ids = std::vector<int32_t>;

class Sequence final : public PostProcessor {
 public:
  explicit Sequence(const Json& config) {
    for (const auto& part : config.at("processors").elements()) {
      parts_.push_back(make_post_processor(part));
    }
  }
  Ids process(Ids ids, bool add_special_tokens) const override {
    for (const auto& part : parts_) ids = part->process(std::move(ids), add_special_tokens);
    return ids;
  }
  size_t added_tokens() const override {
    size_t count = 0;
    for (const auto& part : parts_) count += part->added_tokens();
    return count;
  }

 private:
  std::vector<Made> parts_;
};

// Moves offsets only, which are not kept here.
class ByteLevel final : public PostProcessor {
 public:
  explicit ByteLevel(const Json& /*config*/) {}
  Ids process(Ids ids, bool /*add_special_tokens*/) const override { return ids; }
  size_t added_tokens() const override { return 0; }
};

// A list of pieces: special tokens, and the text ("A"). The form for pairs of texts is not used.
class TemplateProcessing final : public PostProcessor {
 public:
  explicit TemplateProcessing(const Json& config) {
    const Json specials = config.at("special_tokens");
    for (const auto& piece : config.at("single").elements()) {
      if (piece.has("Sequence")) {
        if (piece.at("Sequence").get_string("id") != "A") piece.invalid("only the text A is here");
        pieces_.emplace_back();
        continue;
      }
      const Json special = specials.at(piece.at("SpecialToken").get_string("id"));
      Ids ids;
      for (const auto& id : special.at("ids").elements()) {
        ids.push_back(static_cast<int32_t>(integer(id, 0, kMaxTokenId)));
      }
      pieces_.emplace_back(std::move(ids));
    }
  }
  Ids process(Ids ids, bool add_special_tokens) const override {
    const auto texts =
        static_cast<size_t>(std::count(pieces_.begin(), pieces_.end(), std::nullopt));
    if (texts > 1 && texts * ids.size() > kMostRepeated) {
      fail(ErrorCode::LimitExceeded, "a tokenizer's template repeats a text of {} ids {} times",
           ids.size(), texts);
    }
    Ids result;
    for (const auto& piece : pieces_) {
      if (!piece) {
        result.insert(result.end(), ids.begin(), ids.end());
      } else if (add_special_tokens) {
        result.insert(result.end(), piece->begin(), piece->end());
      }
    }
    return result;
  }
  size_t added_tokens() const override {
    size_t count = 0;
    for (const auto& piece : pieces_) count += piece ? piece->size() : 0;
    return count;
  }

 private:
  static constexpr size_t kMostRepeated = size_t{1} << 20;  // ids
  std::vector<std::optional<Ids>> pieces_;                  // nothing stands for the text
};

// BertProcessing and RobertaProcessing: cls, text, sep.
class ClsSep final : public PostProcessor {
 public:
  explicit ClsSep(const Json& config) : cls_(id(config.at("cls"))), sep_(id(config.at("sep"))) {}
  Ids process(Ids ids, bool add_special_tokens) const override {
    if (!add_special_tokens) return ids;
    ids.insert(ids.begin(), cls_);
    ids.push_back(sep_);
    return ids;
  }
  size_t added_tokens() const override { return 2; }

 private:
  static int32_t id(const Json& pair) {  // ["[CLS]", 101]
    const auto parts = pair.elements();
    if (parts.size() != 2) pair.invalid("a token and its id are needed here");
    return static_cast<int32_t>(integer(parts[1], 0, kMaxTokenId));
  }
  int32_t cls_, sep_;
};

template <typename T>
Made make(const Json& config) {
  return std::make_unique<T>(config);
}

constexpr Kind<Made> kKinds[] = {
    {"Sequence", make<Sequence>},
    {"ByteLevel", make<ByteLevel>},
    {"TemplateProcessing", make<TemplateProcessing>},
    {"BertProcessing", make<ClsSep>},
    {"RobertaProcessing", make<ClsSep>},
};

}  // namespace

Made make_post_processor(const Json& config) {
  return make_stage(kKinds, "post-processor", config);
}

}  // namespace pippin::tokenizers
