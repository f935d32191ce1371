// Properties of the whole op table.
#include <iterator>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "pippin/mil/ops/op.h"

namespace pippin::mil {
namespace {

struct Names {
  Opset since;
  std::string_view names;
};
// The ops of MIL by the opset that adds them (CoreML9 adds none), and Pippin's own.
constexpr Names kOps[] = {
    {Opset::CoreML5,
     "abs acos add affine argsort asin atan atanh avg_pool band_part batch_norm "
     "batch_to_space cast ceil clamped_relu classify clip concat cond const conv "
     "conv_quantized conv_transpose cos cosh crop crop_resize cumsum depth_to_space "
     "einsum elu equal erf exp exp2 expand_dims fill flatten2d floor floor_div gather "
     "gather_along_axis gather_nd gelu greater greater_equal gru identity "
     "instance_norm inverse l2_norm l2_pool layer_norm leaky_relu less less_equal "
     "linear linear_activation list_gather list_length list_read list_scatter "
     "list_write local_response_norm log logical_and logical_not logical_or "
     "logical_xor lstm make_list matmul max_pool maximum minimum mod mul "
     "non_maximum_suppression non_zero not_equal one_hot pad pixel_shuffle pow prelu "
     "random_bernoulli random_categorical random_normal random_uniform range_1d "
     "real_div reduce_argmax reduce_argmin reduce_l1_norm reduce_l2_norm "
     "reduce_log_sum reduce_log_sum_exp reduce_max reduce_mean reduce_min reduce_prod "
     "reduce_sum reduce_sum_square relu relu6 resample reshape resize_bilinear "
     "resize_nearest_neighbor reverse reverse_sequence rnn round rsqrt scaled_tanh "
     "scatter scatter_along_axis scatter_nd select shape sigmoid sigmoid_hard sign "
     "silu sin sinh slice_by_index slice_by_size sliding_windows softmax softplus "
     "softplus_parametric softsign space_to_batch space_to_depth split sqrt square "
     "squeeze stack sub tan tanh threshold thresholded_relu tile topk transpose "
     "upsample_bilinear upsample_nearest_neighbor while_loop "},
    {Opset::CoreML6,
     "constexpr_affine_dequantize constexpr_cast constexpr_lut_to_dense "
     "constexpr_sparse_to_dense fill_like pixel_unshuffle reshape_like "},
    {Opset::CoreML7, "dequantize quantize resize "},
    {Opset::CoreML8,
     "constexpr_blockwise_shift_scale constexpr_lut_to_sparse "
     "constexpr_sparse_blockwise_shift_scale read_state scaled_dot_product_attention "
     "slice_update write_state "},
    {Opset::CoreML5, "pick_top_boxes "},
};

constexpr Opset kOpsets[] = {Opset::CoreML5, Opset::CoreML6, Opset::CoreML7, Opset::CoreML8,
                             Opset::CoreML9};

std::vector<std::string> words(std::string_view text) {
  std::istringstream stream{std::string(text)};
  return {std::istream_iterator<std::string>(stream), {}};
}

TEST(Table, HasEveryOpFromItsOpsetOn) {
  size_t count = 0;
  for (const Names& group : kOps) {
    for (const std::string& name : words(group.names)) {
      ++count;
      for (const Opset opset : kOpsets) {
        EXPECT_EQ(find_op(name, opset) != nullptr, opset >= group.since)
            << name << " in " << to_string(opset);
      }
    }
  }
  std::set<std::string_view> names;
  for (const OpDef& def : op_table()) names.insert(def.name);
  EXPECT_EQ(names.size(), count);
}

TEST(Table, EntriesAreComplete) {
  for (const OpDef& def : op_table()) {
    SCOPED_TRACE(def.name);
    EXPECT_NE(def.infer, nullptr);
    EXPECT_NE(def.evaluate, nullptr);
    EXPECT_TRUE(def.doc.ends_with('.'));
    std::set<std::string_view> names;
    for (const Parameter& parameter : def.parameters) {
      SCOPED_TRACE(parameter.name);
      EXPECT_TRUE(names.insert(parameter.name).second);
      EXPECT_EQ(parameter.types.find_first_not_of("fibsl"), std::string_view::npos);
      EXPECT_TRUE(parameter.optional || parameter.default_value.index() == 0);
    }
    EXPECT_TRUE(def.moves.empty() || names.contains(def.moves));
  }
}

// A default has a type that the parameter accepts; an integer may be used for a real number.
TEST(Table, DefaultsFitTheirParameters) {
  for (const OpDef& def : op_table()) {
    for (const Parameter& parameter : def.parameters) {
      const auto takes = [&](std::string_view letters) {
        return parameter.types.find_first_of(letters) != std::string_view::npos;
      };
      const DefaultValue& value = parameter.default_value;
      const bool fits = std::holds_alternative<std::monostate>(value) ||
                        (std::holds_alternative<bool>(value) && takes("b")) ||
                        (std::holds_alternative<int64_t>(value) && takes("if")) ||
                        (std::holds_alternative<double>(value) && takes("f")) ||
                        (std::holds_alternative<std::string_view>(value) && takes("s"));
      EXPECT_TRUE(fits) << def.name << " " << parameter.name;
    }
  }
}

}  // namespace
}  // namespace pippin::mil
