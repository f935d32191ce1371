#include "pippin/tokenizers/post_processors.h"

#include <algorithm>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/tokenizers/tables/json_file.h"

namespace pippin::tokenizers {
namespace {

using Made = std::unique_ptr<PostProcessor>;
using Ids = std::vector<int32_t>;

void append(PairIds& to, const PairIds& more) {
  to.ids.insert(to.ids.end(), more.ids.begin(), more.ids.end());
  to.types.insert(to.types.end(), more.types.begin(), more.types.end());
}

PairIds joined(PairIds first, const PairIds& second) {
  append(first, second);
  return first;
}

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
  // If several processors can join texts, only the first does; the others see its result as one
  // text.
  PairIds process_pair(PairIds first, PairIds second) const override {
    if (const PostProcessor* joining = joining_part()) {
      return joining->process_pair(std::move(first), std::move(second));
    }
    return joined(std::move(first), second);
  }
  size_t added_to_pair() const override {
    const PostProcessor* joining = joining_part();
    return joining != nullptr ? joining->added_to_pair() : 0;
  }

 private:
  const PostProcessor* joining_part() const {
    const auto found = std::find_if(parts_.begin(), parts_.end(),
                                    [](const Made& part) { return part->added_tokens() > 0; });
    return found == parts_.end() ? nullptr : found->get();
  }

  std::vector<Made> parts_;
};

// The original changes only offsets, which are not tracked here.
class ByteLevel final : public PostProcessor {
 public:
  explicit ByteLevel(const Json& /*config*/) {}
  Ids process(Ids ids, bool /*add_special_tokens*/) const override { return ids; }
  size_t added_tokens() const override { return 0; }
  PairIds process_pair(PairIds first, PairIds second) const override {
    return joined(std::move(first), second);
  }
  size_t added_to_pair() const override { return 0; }
};

// Lists of pieces, one list for a text and one for a pair: special tokens, and the texts ("A",
// "B").
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
      pieces_.emplace_back(special_ids(specials.at(piece.at("SpecialToken").get_string("id"))));
    }
    if (config.has("pair")) read_pair(config.at("pair"), specials);
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
  PairIds process_pair(PairIds first, PairIds second) const override {
    if (pair_.empty()) {
      fail(ErrorCode::Unsupported, "the tokenizer's template has no form for two texts");
    }
    PairIds result;
    for (const PairPiece& piece : pair_) {
      PairIds part = piece.ids ? PairIds{*piece.ids, {}} : piece.is_first ? first : second;
      part.types.assign(part.ids.size(), piece.type);
      append(result, part);
    }
    return result;
  }
  size_t added_to_pair() const override {
    size_t count = 0;
    for (const PairPiece& piece : pair_) count += piece.ids ? piece.ids->size() : 0;
    return count;
  }

 private:
  struct PairPiece {
    std::optional<Ids> ids;  // nothing for a text
    bool is_first = true;
    int32_t type = 0;
  };

  void read_pair(const Json& pieces, const Json& specials) {
    for (const auto& piece : pieces.elements()) {
      const bool is_text = piece.has("Sequence");
      const Json what = piece.at(is_text ? "Sequence" : "SpecialToken");
      PairPiece& read = pair_.emplace_back();
      read.type =
          what.has("type_id") ? static_cast<int32_t>(integer(what.at("type_id"), 0, 255)) : 0;
      const std::string id = what.get_string("id");
      if (is_text) {
        if (id != "A" && id != "B") what.invalid("only the texts A and B are here");
        read.is_first = id == "A";
      } else {
        read.ids = special_ids(specials.at(id));
      }
    }
    // A list that does not have each text once is not a form for a pair.
    for (const bool first : {true, false}) {
      const auto times = std::count_if(pair_.begin(), pair_.end(), [&](const PairPiece& piece) {
        return !piece.ids && piece.is_first == first;
      });
      if (times != 1) return pair_.clear();
    }
  }
  static Ids special_ids(const Json& special) {
    Ids ids;
    for (const auto& id : special.at("ids").elements()) {
      ids.push_back(static_cast<int32_t>(integer(id, 0, kMaxTokenId)));
    }
    return ids;
  }

  static constexpr size_t kMostRepeated = size_t{1} << 20;  // ids
  std::vector<std::optional<Ids>> pieces_;                  // nothing for the text
  std::vector<PairPiece> pair_;                             // empty if the file has none
};

// BertProcessing: cls, first text, sep, second text, sep. RobertaProcessing adds another sep before
// the second text; all types are 0.
class ClsSep : public PostProcessor {
 public:
  explicit ClsSep(const Json& config, bool is_roberta = false)
      : cls_(id(config.at("cls"))), sep_(id(config.at("sep"))), is_roberta_(is_roberta) {}
  Ids process(Ids ids, bool add_special_tokens) const override {
    if (!add_special_tokens) return ids;
    ids.insert(ids.begin(), cls_);
    ids.push_back(sep_);
    return ids;
  }
  size_t added_tokens() const override { return 2; }
  PairIds process_pair(PairIds first, PairIds second) const override {
    PairIds result{{cls_}, {}};
    result.ids.insert(result.ids.end(), first.ids.begin(), first.ids.end());
    result.ids.push_back(sep_);
    result.types.assign(result.ids.size(), 0);
    if (is_roberta_) result.ids.push_back(sep_);
    result.ids.insert(result.ids.end(), second.ids.begin(), second.ids.end());
    result.ids.push_back(sep_);
    result.types.resize(result.ids.size(), is_roberta_ ? 0 : 1);
    return result;
  }
  size_t added_to_pair() const override { return is_roberta_ ? 4 : 3; }

 private:
  static int32_t id(const Json& pair) {  // ["[CLS]", 101]
    const auto parts = pair.elements();
    if (parts.size() != 2) pair.invalid("a token and its id are needed here");
    return static_cast<int32_t>(integer(parts[1], 0, kMaxTokenId));
  }
  int32_t cls_, sep_;
  bool is_roberta_;
};

class RobertaClsSep final : public ClsSep {
 public:
  explicit RobertaClsSep(const Json& config) : ClsSep(config, /*is_roberta=*/true) {}
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
    {"RobertaProcessing", make<RobertaClsSep>},
};

}  // namespace

Made make_post_processor(const Json& config) {
  return make_stage(kKinds, "post-processor", config);
}

}  // namespace pippin::tokenizers
