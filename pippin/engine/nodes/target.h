// The nodes that a device supports, and the forms of their operands: an argument of planning.
#pragma once

#include <functional>
#include <set>
#include <string_view>

#include "pippin/engine/nodes/dot.h"
#include "pippin/engine/nodes/planes.h"

namespace pippin::engine {

struct Target {
  // Products accept stored weights in fp32, fp16 and bf16, and in addition:
  std::function<bool(const QuantizedWeight& weight)> takes_quantized;  // none: expanded
  bool takes_narrow = false;                                           // 12 bits
  // Panels of the processor in ComputeOptions, for weights multiplied by many rows and for
  // convolutions. Other devices get convolutions as reference nodes.
  bool takes_panels = false;
  // Masked attention reads a summary of its mask.
  bool takes_mask_summaries = false;
  // Fusions without a node on this device, by name (fusion/fusion.cpp).
  std::set<std::string_view> lacks_fusions;
  // Whether products that read the same x are at least as fast in one node. Empty: they are not.
  std::function<bool(const DotNode& a, const DotNode& b)> shares_input;
  // Whether it supports a WindowNode with an x of that shape. Empty: any shape.
  std::function<bool(const Windows& windows, const View& x)> fits_windows;
};

}  // namespace pippin::engine
