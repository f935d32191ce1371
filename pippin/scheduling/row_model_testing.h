// For tests only: a model whose logits show whether its caches belong to its tokens. It has one row
// per token, a state known only as a whole, or both. Each row is a hash of the tokens up to its
// own; the next token is a hash of all rows and the state.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "pippin/io/digest.h"
#include "pippin/runtime/model.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/sequence_file.h"

namespace pippin::scheduling {

class RowModel : public runtime::Model {
 public:
  enum class Keeps { Rows, State, Both };
  RowModel(int64_t context, int64_t vocab_size, Keeps keeps, bool many_sequences = true)
      : keeps_(keeps) {
    tell({.context = context,
          .vocab_size = vocab_size,
          .tokens_after_shift = 0,
          .capabilities = {.truncate = keeps == Keeps::Rows,
                           .checkpoint = keeps != Keeps::Rows,
                           .save = true,
                           .many_sequences = many_sequences}});
  }

  bool has_rows() const { return keeps_ != Keeps::State; }
  bool has_state() const { return keeps_ != Keeps::Rows; }
  static constexpr size_t kGroups = 2, kWide = 3;
  static constexpr uint64_t kRowBytes = (kGroups + kWide) * sizeof(uint64_t);

  static uint64_t mix(uint64_t hash, int64_t more) {
    return ((hash ^ static_cast<uint64_t>(more)) + 1) * 0x9E3779B97F4A7C15U;
  }
  // The most likely token after these, recomputed.
  int32_t next(std::span<const int32_t> tokens) const {
    uint64_t hash = 0, sum = 0;
    for (const int32_t id : tokens) {
      hash = mix(hash, id) >> 1;
      if (has_rows()) sum += hash * (kGroups + kWide);
    }
    if (has_state()) sum += hash;
    return static_cast<int32_t>((sum >> 8) % static_cast<uint64_t>(vocab_size()));
  }

  std::function<void()> before_feed;
  std::string name = "row model";
  int64_t fed = 0;                // tokens, of all sequences
  int64_t most_at_once = 0;       // most tokens fed at once
  int64_t row_limit = INT64_MAX;  // RowLayout::limit

 protected:
  std::unique_ptr<runtime::Sequence> make_sequence() override;
  void add_to(Digest& digest) override { digest.update(as_byte_span(name)); }

 private:
  const Keeps keeps_;
};

class RowSequence final : public runtime::Sequence {
 public:
  explicit RowSequence(const std::shared_ptr<RowModel>& model)
      : Sequence(model),
        own_(*model),
        rows_(static_cast<size_t>(model->context()) * RowModel::kGroups),
        wide_(static_cast<size_t>(model->context()) * RowModel::kWide) {}

 protected:
  void feed(const Feeding& feeding) override {
    if (own_.before_feed) own_.before_feed();
    const auto context = static_cast<size_t>(own_.context());
    own_.most_at_once = std::max(own_.most_at_once, std::ssize(fed()) - feeding.begin);
    for (auto i = static_cast<size_t>(feeding.begin); i < fed().size(); ++i) {
      const uint64_t before = own_.has_state() ? state_ : i == 0 ? 0 : rows_[i - 1];
      const uint64_t hash = RowModel::mix(before, fed()[i]) >> 1;
      state_ = hash;
      for (size_t group = 0; group < RowModel::kGroups; ++group) rows_[group * context + i] = hash;
      std::fill_n(wide_.begin() + static_cast<ptrdiff_t>(i * RowModel::kWide), RowModel::kWide,
                  hash);
      ++own_.fed;
      if (feeding.rows == runtime::Rows::Every) fill(i + 1, next_row(feeding));
    }
    if (feeding.rows == runtime::Rows::Last) fill(fed().size(), next_row());
  }
  // The logits after the first `count` tokens.
  void fill(size_t count, std::span<float> row) const {
    const auto context = static_cast<size_t>(own_.context());
    uint64_t sum = own_.has_state() ? state_ : 0;
    for (size_t i = 0; i < count && own_.has_rows(); ++i) {
      for (size_t group = 0; group < RowModel::kGroups; ++group) {
        sum += rows_[group * context + i];
      }
      for (size_t k = 0; k < RowModel::kWide; ++k) sum += wide_[i * RowModel::kWide + k];
    }
    std::fill(row.begin(), row.end(), 0.0F);
    row[(sum >> 8) % row.size()] = 10;
  }
  int64_t give_up(int64_t before) override { return before; }
  void forget() override {
    state_ = 0;
    std::fill(rows_.begin(), rows_.end(), 0);
    std::fill(wide_.begin(), wide_.end(), 0);
  }
  Earliest find_earliest() const override {
    return {own_.has_state() ? position() : 0, "it has a state"};
  }
  void copy(const Sequence& /*other*/) override {}
  int64_t row_limit() const override { return own_.row_limit; }
  std::vector<runtime::CacheArray> arrays(int64_t count) override {
    std::vector<runtime::CacheArray> result;
    const auto rows = static_cast<uint64_t>(own_.context());
    const auto filled = static_cast<uint64_t>(count);
    if (own_.has_rows()) {
      result.push_back({"rows", rows_.size() * 8, RowModel::kGroups, rows, 0, filled, true});
      result.push_back({"wide", wide_.size() * 8, 1, rows, 0, filled, true});
    }
    if (own_.has_state()) result.push_back({"state", sizeof(state_), 1, 1, 0, 1, false});
    return result;
  }
  void read_cache(size_t index, const engine::StateRows& rows, std::byte* to,
                  uint64_t stride) override {
    engine::read_rows(cache(index).data(), rows, to, stride);
  }
  void write_cache(size_t index, const engine::StateRows& rows, const std::byte* from,
                   uint64_t stride) override {
    engine::write_rows(cache(index).data(), rows, from, stride);
  }

 private:
  MutableByteSpan cache(size_t index) {
    if (index == (own_.has_rows() ? 2 : 0)) return std::as_writable_bytes(std::span(&state_, 1));
    return std::as_writable_bytes(std::span(index == 0 ? rows_ : wide_));
  }

  RowModel& own_;
  std::vector<uint64_t> rows_, wide_;
  uint64_t state_ = 0;
};

inline std::unique_ptr<runtime::Sequence> RowModel::make_sequence() {
  return std::make_unique<RowSequence>(std::static_pointer_cast<RowModel>(shared_from_this()));
}

// The text that the model writes after a prompt.
inline std::vector<int32_t> expected_of(const RowModel& model, std::vector<int32_t> prompt,
                                        int64_t count) {
  std::vector<int32_t> result;
  for (int64_t i = 0; i < count; ++i) {
    result.push_back(model.next(prompt));
    prompt.push_back(result.back());
  }
  return result;
}

}  // namespace pippin::scheduling
