// A sequence of a windowed model: the caches of the full windows, and the tokens after them, which
// each run computes again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "pippin/runtime/sequence.h"
#include "pippin/runtime/sequence_file.h"
#include "pippin/runtime/windowed/caches.h"
#include "pippin/runtime/windowed/shared.h"

namespace pippin::runtime {

class WindowedSequence final : public Sequence {
 public:
  WindowedSequence(std::shared_ptr<Model> model, WindowedShared& shared);
  ~WindowedSequence() override;

  // Feeds one new token of each sequence, chunk after chunk; the chunks must stay loaded.
  static void feed_together(WindowedShared& shared, std::span<Sequence* const> sequences);

 protected:
  void check_room(int64_t added) const override;
  void feed(const Feeding& feeding) override;
  std::vector<HiddenStates> parts() const override;
  int64_t give_up(int64_t before) override;
  void forget() override;
  Earliest find_earliest() const override;
  int64_t find_droppable() const override;
  void cut(int64_t /*count*/) override { result_row_ = -1; }
  void copy(const Sequence& other) override;
  std::vector<CacheArray> arrays(int64_t count) override { return caches_->arrays(count); }
  void read_cache(size_t index, const engine::StateRows& rows, std::byte* to,
                  uint64_t stride) override {
    engine::read_rows(caches_->bytes(index).data(), rows, to, stride);
  }
  void write_cache(size_t index, const engine::StateRows& rows, const std::byte* from,
                   uint64_t stride) override {
    engine::write_rows(caches_->bytes(index).data(), rows, from, stride);
  }
  std::optional<int32_t> find_greedy_token() override;

 private:
  // The tokens [begin, end) of a window; those from `first` on are new.
  struct Window {
    int64_t begin, first, end;
    int64_t rows() const { return end - begin; }
  };
  bool is_full(const Window& window) const { return window.rows() == shared_.schema.window; }
  Window window_of(int64_t first, int64_t end) const;
  void run_window(const Window& window, const Feeding& feeding);
  FixedPart& fill_chunk(size_t index, const Window& window);
  void fill_first(FixedPart& chunk, const Window& window);
  void fill_from(FixedPart& chunk, const WindowedPorts::Route& route);
  void keep_outputs(size_t index);
  void take_row(int64_t row, std::span<float> target) const;
  void take_hidden(size_t index, const Window& window, HiddenStates& target) const;

  WindowedShared& shared_;
  std::unique_ptr<WindowedCaches> caches_;
  int64_t result_row_ = -1;               // row of the newest token in the last run; -1: none
  std::vector<std::vector<float>> kept_;  // with --low-memory: outputs of unloaded chunks
};

}  // namespace pippin::runtime
