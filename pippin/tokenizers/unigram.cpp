#include "pippin/tokenizers/unigram.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "pippin/base/error.h"
#include "pippin/base/text.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/tokenizers/prefix_trie.h"
#include "pippin/tokenizers/regex/regex.h"

namespace pippin::tokenizers {
namespace {

constexpr double kUnknownPenalty = 10;

// The best way to the end of a token: its score, the token, and where the token begins.
struct Step {
  double score = 0;
  int32_t id = -1;
  uint32_t begin = kUnreached;
  static constexpr uint32_t kUnreached = UINT32_MAX;

  void offer(double candidate, int32_t candidate_id, size_t candidate_begin) {
    if (begin != kUnreached && !(candidate > score)) return;
    *this = {candidate, candidate_id, static_cast<uint32_t>(candidate_begin)};
  }
};

struct UnigramMemory final : Model::Memory {
  std::vector<Step> steps;
  std::vector<TextRange> tokens;  // last first
};

class Unigram final : public Model {
 public:
  Unigram(const Json& config, JsonFile& file);

  std::unique_ptr<Memory> new_memory() const override { return std::make_unique<UnigramMemory>(); }
  void tokenize(std::string_view text, Memory& memory, std::vector<int32_t>& ids) const override;
  const Vocabulary& vocabulary() const override { return vocabulary_; }
  int32_t size() const override { return static_cast<int32_t>(scores_.size()); }

 private:
  static StringPool take_scored_tokens(const Json& config, JsonFile& file);
  std::vector<PrefixTrie::Entry> matchable(const JsonFile& file) const;
  void find_best(std::string_view text, std::vector<Step>& steps) const;
  int32_t unknown() const;
  void add(std::string_view token, std::vector<int32_t>& ids) const;

  Vocabulary vocabulary_;
  PrefixTrie tree_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
  int32_t unknown_ = -1;
  bool byte_fallback_ = false;
};

StringPool Unigram::take_scored_tokens(const Json& config, JsonFile& file) {
  if (!file.has_scores) config.invalid("the key 'vocab' is missing or not an array");
  if (file.vocab_tokens.size() > static_cast<size_t>(kMaxTokenId)) {
    fail(ErrorCode::LimitExceeded, "{}.vocab: more than {} tokens", config.where(), kMaxTokenId);
  }
  return std::move(file.vocab_tokens);
}

std::vector<PrefixTrie::Entry> Unigram::matchable(const JsonFile& file) const {
  const StringPool& tokens = vocabulary_.tokens();
  std::vector<PrefixTrie::Entry> entries;
  entries.reserve(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (!file.vocab_unmatched.empty() && file.vocab_unmatched[i]) continue;
    entries.emplace_back(tokens[i], static_cast<int32_t>(i));
  }
  return entries;
}

Unigram::Unigram(const Json& config, JsonFile& file)
    : vocabulary_(take_scored_tokens(config, file)),
      tree_(matchable(file), config.where()),
      scores_(std::move(file.vocab_scores)) {
  double lowest = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < scores_.size(); ++i) {
    if (!file.vocab_unmatched.empty() && file.vocab_unmatched[i]) continue;
    if (scores_[i] < lowest) lowest = scores_[i];
  }
  unknown_score_ = lowest - kUnknownPenalty;
  byte_fallback_ = config.get_bool_or("byte_fallback", false);
  if (config.has("unk_id")) {
    if (scores_.empty()) config.invalid("unk_id names no token: the vocabulary is empty");
    unknown_ = static_cast<int32_t>(
        integer(config.at("unk_id"), 0, static_cast<int64_t>(scores_.size()) - 1));
  }
}

int32_t Unigram::unknown() const {
  if (unknown_ < 0) {
    fail(ErrorCode::InvalidFile, "the text has an unknown character and the tokenizer no unk_id");
  }
  return unknown_;
}

void Unigram::find_best(std::string_view text, std::vector<Step>& steps) const {
  steps.assign(text.size() + 1, {});
  constexpr size_t kCheck = 1 << 14;  // bytes between two polls
  size_t next_check = kCheck;
  for (size_t begin = 0; begin < text.size();) {
    if (begin >= next_check) {
      check_cancel();
      next_check = begin + kCheck;
    }
    const double score = steps[begin].score;
    size_t next = begin;
    decode_utf8(text, next);
    bool is_token = false;
    tree_.prefixes(text, begin, [&](int32_t id, size_t end) {
      steps[end].offer(scores_[static_cast<size_t>(id)] + score, id, begin);
      is_token = is_token || end == next;
    });
    if (!is_token) steps[next].offer(unknown_score_ + score, unknown(), begin);
    begin = next;
  }
}

void Unigram::tokenize(std::string_view text, Memory& memory, std::vector<int32_t>& ids) const {
  auto& [steps, tokens] = static_cast<UnigramMemory&>(memory);
  find_best(text, steps);
  tokens.clear();
  bool after_unknown = false;
  for (size_t end = text.size(); end > 0;) {
    const Step& step = steps[end];
    const bool is_unknown = step.id == unknown_;
    if (is_unknown && after_unknown) {
      tokens.back().begin = step.begin;
    } else {
      tokens.push_back({step.begin, end});
    }
    after_unknown = is_unknown;
    end = step.begin;
  }
  for (auto token = tokens.rbegin(); token != tokens.rend(); ++token) {
    add(text.substr(token->begin, token->end - token->begin), ids);
  }
}

void Unigram::add(std::string_view token, std::vector<int32_t>& ids) const {
  if (const int32_t id = vocabulary_[token]; id >= 0) {
    ids.push_back(id);
    return;
  }
  const size_t before = ids.size();
  for (size_t i = 0; byte_fallback_ && i < token.size(); ++i) {
    const int32_t id = vocabulary_[fmt::format("<0x{:02X}>", static_cast<unsigned char>(token[i]))];
    if (id < 0) {  // all bytes or none
      ids.resize(before);
      break;
    }
    ids.push_back(id);
  }
  if (ids.size() == before) ids.push_back(unknown());
}

}  // namespace

std::unique_ptr<Model> make_unigram(const Json& config, JsonFile& file) {
  return std::make_unique<Unigram>(config, file);
}

}  // namespace pippin::tokenizers
