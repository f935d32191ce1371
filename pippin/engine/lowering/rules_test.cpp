// Which ops run on the reference, slowly, whatever the precision.
#include "pippin/engine/lowering/rules.h"

#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "pippin/mil/ops/op.h"

namespace pippin::engine {
namespace {

TEST(Rules, TheOpsWithoutOne) {
  std::set<std::string_view> slow;
  for (const mil::OpDef& op : mil::op_table()) {
    // Compressed weights have forms, and what is not pure is no work for a plan.
    const bool planned =
        op.pure && !op.traits.has(mil::Trait::Constant) && !op.traits.has(mil::Trait::Compressed);
    if (planned && find_rule(op.name) == nullptr) slow.insert(op.name);
  }
  // To be shortened. An op that is added to the table needs a rule, or a place here.
  const std::set<std::string_view> expected = {"acos",
                                               "affine",
                                               "argsort",
                                               "asin",
                                               "atan",
                                               "atanh",
                                               "band_part",
                                               "batch_to_space",
                                               "clamped_relu",
                                               "classify",
                                               "cond",
                                               "conv_quantized",
                                               "cosh",
                                               "crop_resize",
                                               "cumsum",
                                               "dequantize",
                                               "fill_like",
                                               "gather_along_axis",
                                               "gather_nd",
                                               "gru",
                                               "l2_norm",
                                               "list_gather",
                                               "list_length",
                                               "list_read",
                                               "list_scatter",
                                               "list_write",
                                               "local_response_norm",
                                               "lstm",
                                               "make_list",
                                               "non_maximum_suppression",
                                               "non_zero",
                                               "pick_top_boxes",
                                               "quantize",
                                               "reduce_l1_norm",
                                               "reduce_l2_norm",
                                               "reduce_log_sum",
                                               "reduce_prod",
                                               "resample",
                                               "reverse",
                                               "reverse_sequence",
                                               "rnn",
                                               "scatter",
                                               "scatter_along_axis",
                                               "scatter_nd",
                                               "shape",
                                               "sinh",
                                               "sliding_windows",
                                               "softplus_parametric",
                                               "space_to_batch",
                                               "tan",
                                               "thresholded_relu",
                                               "while_loop"};
  EXPECT_EQ(slow, expected) << fmt::format("{}", fmt::join(slow, "\", \""));
}

}  // namespace
}  // namespace pippin::engine
