// The lowering rules, by family. A rule lists its op types; lower() finds it by name.
#pragma once

#include <map>
#include <string_view>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

using Rule = void (*)(Builder&, const mil::Operation&);
using Rules = std::map<std::string_view, Rule, std::less<>>;

using AddRules = void(Rules& rules);
AddRules add_attention_rules, add_choice_rules, add_conv_rules, add_conv_transpose_rules,
    add_dot_rules, add_elementwise_rules, add_gather_rules, add_map_rules, add_move_rules,
    add_norm_rules, add_pool_rules, add_quantization_rules, add_recurrent_rules,
    add_reduction_rules, add_resize_rules, add_row_rules, add_sample_rules, add_scan_rules,
    add_shape_rules, add_spatial_rules, add_state_rules, add_suppression_rules;

// The rule for operations of a type; null if the reference computes them.
Rule find_rule(std::string_view type);

// Lowers an operation by its rule, or by the reference if no rule fits; without fusions.
void lower_plainly(Builder& builder, const mil::Operation& operation);

// A convolution whose kernel is one element, without groups, strides or padding: a linear layer at
// every place.
void lower_pointwise_conv(Builder& builder, const mil::Operation& operation);

// Fills memory without gaps with the one element of `value`, which has the same storage.
void emit_fill(Builder& builder, const View& out, const View& value);

// The part of `x` that begin, stride and masks of a slice_by_index or slice_update select; `shape`
// is the part's (inferred) shape.
View slice_view(const Builder& builder, const mil::Operation& operation, const View& x,
                const mil::Shape& shape);

// Constant parameters of an operation, with the op table's defaults.
int64_t int_param(const Builder& builder, const mil::Operation& operation, std::string_view name);
double float_param(const Builder& builder, const mil::Operation& operation, std::string_view name);
bool bool_param(const Builder& builder, const mil::Operation& operation, std::string_view name);
std::string string_param(const Builder& builder, const mil::Operation& operation,
                         std::string_view name);
// All elements of a parameter; `absent` if it is not given. Throws Unsupported if they are not
// constant.
std::vector<int64_t> ints_param(const Builder& builder, const mil::Operation& operation,
                                std::string_view name, std::vector<int64_t> absent = {});

// `axis` counted from the front.
int64_t normalize_axis(int64_t axis, int64_t rank);

}  // namespace pippin::engine
