#include "pippin/engine/fusion/fusion.h"

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/engine/fusion/attention_match.h"

namespace pippin::engine {

std::span<const Fusion> fusions() {
  static const Fusion table[] = {
      {"experts",
       {"add", "cast", "clip", "gather", "gelu", "matmul", "minimum", "mul", "reduce_sum",
        "sigmoid", "silu"},
       fuse_experts},
      {"attention", {"matmul", "einsum", "concat"}, fuse_attention},
      {"rms_norm", {"mul", "real_div", "l2_norm"}, fuse_norm},
      {"rms_norm", {"slice_by_index", "slice_by_size", "split"}, fuse_doubled_norm},
      {"rotary", {"add", "concat", "reshape"}, fuse_rotary},
      {"activation", {"mul", "real_div"}, fuse_activation},
      {"low_rank", {"add"}, fuse_low_rank},
      {"gate", {"mul"}, fuse_gate},
      {"residual", {"add"}, fuse_residual},
      {"codes", {"dequantize"}, fuse_codes},
      {"quantized convolution", {"conv"}, fuse_code_convolution},
      {"recurrence", {"slice_update"}, fuse_recurrence},
      {"recurrence", {"add"}, fuse_skip},
      {"causal_convolution", {"slice_update"}, fuse_causal_convolution},
      {"causal_convolution", {"silu"}, fuse_convolution_silu},
  };
  return table;
}

bool fuse(Builder& builder, const mil::Operation& operation) {
  // Patterns are of floats, which all have the same type at run time; integers only have rules.
  if (operation.outputs().empty() || !mil::is_float(builder.info(operation.output()).type)) {
    return false;
  }
  for (const Fusion& fusion : fusions()) {
    if (!fusion.roots.contains(operation.type()) ||
        builder.target().lacks_fusions.contains(fusion.name)) {
      continue;
    }
    try {
      if (!fusion.fuse(builder, operation)) continue;
    } catch (const Error& error) {
      // A parameter on the way is not constant, or a value belongs to an earlier region.
      if (error.code() != ErrorCode::Unsupported) throw;
      continue;
    }
    log_debug("{} ends a {}", builder.where(operation), fusion.name);
    return true;
  }
  return false;
}

}  // namespace pippin::engine
