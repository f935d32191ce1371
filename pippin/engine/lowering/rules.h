// The lowering rules, by family. A rule lists its op types; lower() finds it by name.
#pragma once

#include <map>
#include <string_view>

#include "pippin/engine/lowering/builder.h"

namespace pippin::engine {

using Rule = void (*)(Builder&, const mil::Operation&);
using Rules = std::map<std::string_view, Rule, std::less<>>;

void add_attention_rules(Rules& rules);
void add_choice_rules(Rules& rules);
void add_conv_rules(Rules& rules);
void add_conv_transpose_rules(Rules& rules);
void add_dot_rules(Rules& rules);
void add_elementwise_rules(Rules& rules);
void add_gather_rules(Rules& rules);
void add_map_rules(Rules& rules);
void add_move_rules(Rules& rules);
void add_norm_rules(Rules& rules);
void add_pool_rules(Rules& rules);
void add_quantization_rules(Rules& rules);
void add_recurrent_rules(Rules& rules);
void add_reduction_rules(Rules& rules);
void add_resize_rules(Rules& rules);
void add_row_rules(Rules& rules);
void add_sample_rules(Rules& rules);
void add_scan_rules(Rules& rules);
void add_shape_rules(Rules& rules);
void add_spatial_rules(Rules& rules);
void add_state_rules(Rules& rules);
void add_suppression_rules(Rules& rules);

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
