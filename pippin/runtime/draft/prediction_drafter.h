// Drafts from the model's own prediction layer (Sequence::predict()).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "pippin/runtime/draft/drafter.h"

namespace pippin::runtime {

class PredictionDrafter final : public Drafter {
 public:
  void attach(Sequence& sequence) override { sequence_ = &sequence; }
  void observe(std::span<const int32_t> ids) override;
  // Throws Cancelled. After another error of the layer there are no more drafts.
  std::optional<Draft> next() override;
  Prior prior(int level) const override;
  bool is_free() const override { return false; }

 private:
  Sequence* sequence_ = nullptr;
  std::vector<int32_t> ids_;  // the last token, followed by the drafts
  bool has_failed_ = false;
};

}  // namespace pippin::runtime
