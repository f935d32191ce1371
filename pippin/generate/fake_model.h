// For tests only: a model whose next token is the last one plus 1, whatever came before.
#pragma once

#include <functional>
#include <vector>

#include "pippin/generate/language_model.h"

namespace pippin::generate {

class FakeModel : public LanguageModel {
 public:
  FakeModel(int64_t context, int64_t vocab_size) : context_(context), vocab_size_(vocab_size) {}

  int64_t context() const override { return context_; }
  int64_t vocab_size() const override { return vocab_size_; }
  int64_t position() const override { return static_cast<int64_t>(fed_.size()); }
  void reset() override { fed_.clear(); }

  std::span<const float> prefill(std::span<const int32_t> ids) override {
    check_ids(*this, ids);
    if (before_forward) before_forward();
    fed_.insert(fed_.end(), ids.begin(), ids.end());
    logits_ = row(ids.back());
    return logits_;
  }
  std::span<const float> decode(int32_t id) override { return prefill({&id, 1}); }
  std::vector<float> all_logits(std::span<const int32_t> ids) override {
    prefill(ids);
    std::vector<float> rows;
    for (const int32_t id : ids) {
      const auto one = row(id);
      rows.insert(rows.end(), one.begin(), one.end());
    }
    return rows;
  }

  const std::vector<int32_t>& fed() const { return fed_; }
  std::function<void()> before_forward;

 private:
  std::vector<float> row(int32_t id) const {
    std::vector<float> logits(static_cast<size_t>(vocab_size_));
    logits[static_cast<size_t>((id + 1) % vocab_size_)] = 10;
    return logits;
  }

  int64_t context_, vocab_size_;
  std::vector<int32_t> fed_;
  std::vector<float> logits_;
};

}  // namespace pippin::generate
