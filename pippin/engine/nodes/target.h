// The nodes that a device carries out and the forms in which it takes their operands: an argument
// of planning.
#pragma once

#include <functional>
#include <set>
#include <string_view>

#include "pippin/engine/nodes/dot.h"
#include "pippin/engine/nodes/planes.h"

namespace pippin::engine {

struct Target {
  // Products take weights in fp32, fp16 and bf16 as they are stored, and besides:
  std::function<bool(const QuantizedWeight& weight)> takes_quantized;  // none: expanded
  bool takes_narrow = false;                                           // 12 bits
  // Panels of the processor in ComputeOptions: of weights that meet many rows, and of
  // convolutions, which are nodes of the reference elsewhere.
  bool takes_panels = false;
  // Attention that is masked reads a summary of its mask.
  bool takes_mask_summaries = false;
  // Fusions that it has no nodes for, by name (fusion/fusion.cpp).
  std::set<std::string_view> lacks_fusions;
  // Whether products that read the same x are as quick in one node. Empty: they are not.
  std::function<bool(const DotNode& a, const DotNode& b)> shares_input;
  // Whether it takes a WindowNode with an x of that shape. Empty: any.
  std::function<bool(const Windows& windows, const View& x)> fits_windows;
};

}  // namespace pippin::engine
