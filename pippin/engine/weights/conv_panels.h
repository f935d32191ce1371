// Weights of convolutions packed for the CPU's kernels (kernels/conv), once when a plan is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pippin/base/cpu_features.h"

namespace pippin::engine {

class ConvPanels {
 public:
  enum class Form : uint8_t {
    Rows,          // of ConvNode
    ChannelsLast,  // of ChannelsLastConvNode
    Winograd,      // of WinogradNode
  };
  // `outputs` of all groups, each with `channels` times `taps` weights.
  ConvPanels(Form form, int64_t groups, int64_t outputs, int64_t channels, int64_t taps,
             const CpuFeatures& cpu);

  int64_t floats() const;  // at least 1
  // Packs weights [outputs, channels, taps].
  std::vector<std::byte> pack(const std::vector<float>& rows) const;
  // Names the properties of the processor that decide their layout.
  std::string kernel() const;

 private:
  int64_t each() const { return outputs_ / groups_; }
  int64_t group_floats() const;

  Form form_;
  int64_t groups_, outputs_, channels_, taps_;
  CpuFeatures cpu_;
};

// Multiplications of a tile of outputs by Winograd's algorithm, and the side of such a tile.
int64_t winograd_products();
int64_t winograd_side();

}  // namespace pippin::engine
