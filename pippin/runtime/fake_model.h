// For tests only: a model whose next token is always the last one plus 1.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "pippin/runtime/model.h"
#include "pippin/runtime/sequence.h"

namespace pippin::runtime {

class FakeModel : public Model {
 public:
  struct Options {
    int64_t tokens_after_shift = 0;
    Capabilities capabilities = {};
  };
  FakeModel(int64_t context, int64_t vocab_size, const Options& options) {
    tell({context, vocab_size, options.tokens_after_shift, options.capabilities});
  }
  FakeModel(int64_t context, int64_t vocab_size) : FakeModel(context, vocab_size, Options()) {}

  std::function<void(int64_t position)> before_forward;
  std::vector<int32_t> fed;  // ids fed to all sequences, in order
  // Fills the row of logits after a token.
  virtual void fill(int32_t id, std::span<float> row) const {
    std::fill(row.begin(), row.end(), 0.0F);
    row[static_cast<size_t>((id + 1) % vocab_size())] = 10;
  }

 protected:
  std::unique_ptr<Sequence> make_sequence() override;
};

class FakeSequence final : public Sequence {
 public:
  explicit FakeSequence(std::shared_ptr<FakeModel> model) : Sequence(model), fake_(*model) {}

 protected:
  void feed(const Feeding& feeding) override {
    if (fake_.before_forward) fake_.before_forward(position());
    const auto ids = std::span(fed()).subspan(static_cast<size_t>(feeding.begin));
    fake_.fed.insert(fake_.fed.end(), ids.begin(), ids.end());
    if (feeding.rows == Rows::Last) fake_.fill(ids.back(), next_row());
    if (feeding.rows != Rows::Every) return;
    for (const int32_t id : ids) fake_.fill(id, next_row(feeding));
  }
  int64_t give_up(int64_t before) override { return before; }
  void forget() override {}
  void copy(const Sequence& /*other*/) override {}

 private:
  FakeModel& fake_;
};

inline std::unique_ptr<Sequence> FakeModel::make_sequence() {
  return std::make_unique<FakeSequence>(std::static_pointer_cast<FakeModel>(shared_from_this()));
}

}  // namespace pippin::runtime
