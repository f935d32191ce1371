#include "pippin/mil/ops/written.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/mil/ops/einsum.h"

namespace pippin::mil {
namespace {

// Parameters that share one element type.
struct TypeGroup {
  std::string_view ops;
  std::string_view parameters;
  // f(p16, p32) i(nt32) b(ool) s(hort: the integers of 8 and 16 bits)
  std::string_view types;
  Opset since = Opset::CoreML5;
  // The first opset with another row for these ops.
  Opset before = static_cast<Opset>(UINT8_MAX);
};

constexpr TypeGroup kTypeGroups[] = {
    {"add sub mul real_div floor_div mod pow maximum minimum matmul", "x y", "fi"},
    {"equal not_equal less less_equal greater greater_equal", "x y", "fi"},
    {"select", "a b", "fib"},
    {"abs sign square exp2 cumsum argsort threshold", "x", "fi"},
    {"reduce_argmax reduce_argmin reduce_max reduce_min reduce_mean reduce_sum", "x", "fi"},
    {"reduce_prod reduce_sum_square reduce_l1_norm reduce_l2_norm", "x", "fi"},
    {"reduce_log_sum reduce_log_sum_exp", "x", "fi"},
    {"split tile band_part flatten2d non_zero shape", "x", "fib"},
    {"fill", "value", "fib"},
    {"one_hot", "on_value off_value", "fib"},
    {"pad", "x constant_val", "f"},
    {"range_1d", "start end step", "fi"},
    {"scatter scatter_along_axis scatter_nd", "data updates", "fi"},
    {"scaled_dot_product_attention", "query key value", "f"},
    {"cast expand_dims squeeze reshape transpose reverse reshape_like", "x", "fib", Opset::CoreML5,
     Opset::CoreML7},
    {"cast expand_dims squeeze reshape transpose reverse reshape_like", "x", "fibs",
     Opset::CoreML7},
    {"slice_by_index slice_by_size reverse_sequence", "x", "fib", Opset::CoreML5, Opset::CoreML7},
    {"slice_by_index slice_by_size reverse_sequence", "x", "fibs", Opset::CoreML7},
    {"slice_update", "x update", "fibs"},
    {"sliding_windows", "x", "fi", Opset::CoreML5, Opset::CoreML7},
    {"sliding_windows", "x", "fibs", Opset::CoreML7},
    {"gather gather_along_axis gather_nd topk", "x", "fi", Opset::CoreML5, Opset::CoreML7},
    {"gather gather_along_axis gather_nd topk", "x", "fis", Opset::CoreML7},
    {"linear", "x weight bias", "fi", Opset::CoreML5, Opset::CoreML7},
    {"linear", "weight bias", "fi", Opset::CoreML7},
    {"conv conv_transpose", "x weight bias", "f", Opset::CoreML5, Opset::CoreML7},
    {"conv conv_transpose", "weight bias", "f", Opset::CoreML7},
    {"layer_norm instance_norm", "x gamma beta epsilon", "f", Opset::CoreML5, Opset::CoreML7},
    {"layer_norm instance_norm", "gamma beta epsilon", "f", Opset::CoreML7},
    {"batch_norm", "x mean variance gamma beta epsilon", "f", Opset::CoreML5, Opset::CoreML7},
    {"batch_norm", "mean variance gamma beta epsilon", "f", Opset::CoreML7},
    {"rsqrt log inverse l2_norm", "x epsilon", "f", Opset::CoreML5, Opset::CoreML7},
    {"clip", "x alpha beta", "f"},
    {"elu leaky_relu prelu thresholded_relu clamped_relu linear_activation", "x alpha beta", "f",
     Opset::CoreML5, Opset::CoreML7},
    {"scaled_tanh sigmoid_hard softplus_parametric", "x alpha beta", "f", Opset::CoreML5,
     Opset::CoreML7},
};

// Calls visit with each word of a text whose words are separated by single spaces.
template <typename Visit>
void for_each_word(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool applies(const TypeGroup& group, const InferContext& context) {
  if (context.opset() < group.since || context.opset() >= group.before) return false;
  bool found = false;
  for_each_word(group.ops,
                [&](std::string_view op) { found = found || op == context.operation().type(); });
  return found;
}

char letter_of(DataType type) {
  switch (type) {
    case DataType::Float16:
    case DataType::Float32:
      return 'f';
    case DataType::Int32:
      return 'i';
    case DataType::Bool:
      return 'b';
    case DataType::Int8:
    case DataType::UInt8:
    case DataType::Int16:
    case DataType::UInt16:
      return 's';
    default:
      return '?';
  }
}

void check_types(InferContext& context, const TypeGroup& group) {
  std::string_view first;
  DataType type{};
  for_each_word(group.parameters, [&](std::string_view parameter) {
    if (!context.has(parameter)) return;
    const DataType own = context.input(parameter).type;
    if (group.types.find(letter_of(own)) == group.types.npos) {
      context.reject("coremltools does not accept {} {} in opset {}", to_string(own), parameter,
                     to_string(context.opset()));
    }
    if (first.empty()) {
      first = parameter;
      type = own;
    } else if (own != type) {
      context.reject("{} is {} and {} is {}: coremltools requires one type", first, to_string(type),
                     parameter, to_string(own));
    }
  });
}

bool may_be_equal(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Dim& x, const Dim& y) { return known_equal(x, y) != false; });
}

using ShapeCheck = void (*)(InferContext&, const Infos&);

void check_select(InferContext& context, const Infos& outputs) {
  const Shape branches = broadcast(context, context.input("a").shape, context.input("b").shape);
  if (may_be_equal(branches, outputs[0].shape)) return;
  context.reject(
      "a and b broadcast to {}, with cond to {}: coremltools gives the result the former",
      to_string(branches), to_string(outputs[0].shape));
}

void check_concat(InferContext& context, const Infos&) {
  const std::vector<const ValueInfo*> values = context.inputs("values");
  for (const ValueInfo* value : values) {
    if (value->shape.size() == values[0]->shape.size()) continue;
    context.reject("coremltools cannot join values of ranks {} and {}", values[0]->shape.size(),
                   value->shape.size());
  }
}

void check_tile(InferContext& context, const Infos& outputs) {
  if (outputs[0].shape.empty()) context.reject("coremltools cannot tile a scalar");
  const auto reps = context.known("reps");
  for (size_t i = 0; reps && i < reps->size(); ++i) {
    if ((*reps)[i].upper() > 0) continue;
    context.reject("reps[{}] is {}, coremltools requires 1 or more", i, (*reps)[i].to_string());
  }
}

void check_slice_update(InferContext& context, const Infos&) {
  if (context.input("update").shape.empty())
    context.reject("coremltools does not accept a scalar update");
}

void check_matmul(InferContext& context, const Infos&) {
  for (const auto& [parameter, transpose] :
       {std::pair{"x", "transpose_x"}, std::pair{"y", "transpose_y"}}) {
    if (context.input(parameter).shape.size() > 1 || !context.bool_param(transpose)) continue;
    context.reject("coremltools does not transpose {} of rank 1", parameter);
  }
}

void check_attention(InferContext& context, const Infos&) {
  const auto batch = [&](std::string_view parameter) {
    const Shape& shape = context.input(parameter).shape;
    return Shape(shape.begin(), shape.end() - 2);
  };
  const Shape queries = batch("query");
  for (const std::string_view other : {"key", "value"}) {
    if (may_be_equal(queries, batch(other))) continue;
    context.reject("query has the batch {}, {} {}: coremltools does not broadcast them",
                   to_string(queries), other, to_string(batch(other)));
  }
  if (!context.has("attn_mask")) return;
  const Shape& mask = context.input("attn_mask").shape;
  const Shape& key = context.input("key").shape;
  if (mask.empty() || known_equal(mask.back(), key[key.size() - 2]) == false) {
    context.reject("attn_mask {} for {} keys: coremltools does not broadcast them", to_string(mask),
                   key[key.size() - 2].to_string());
  }
}

void check_pad(InferContext& context, const Infos& outputs) {
  const ValueInfo& pad = context.input("pad");
  const auto all = static_cast<int64_t>(2 * outputs[0].shape.size());
  if (pad.elements || pad.shape[0] == Dim(all)) return;
  context.reject("pad has {} elements, coremltools needs {} where they are computed",
                 pad.shape[0].to_string(), all);
}

void check_prelu(InferContext& context, const Infos& outputs) {
  const size_t rank = outputs[0].shape.size();
  if (rank < 3 || rank > 5) context.reject("x has rank {}, coremltools requires 3 to 5", rank);
}

void check_reshape(InferContext& context, const Infos& outputs) {
  const auto sizes = context.known("shape");
  const size_t from = context.input("x").shape.size(), to = outputs[0].shape.size();
  const bool copies = sizes && std::find(sizes->begin(), sizes->end(), Dim(0)) != sizes->end();
  if (!copies || from == to || context.opset() >= Opset::CoreML7) return;
  context.reject("a 0 in shape, from rank {} to {}: before CoreML7 coremltools requires one rank",
                 from, to);
}

// Core ML has two equations, whatever their letters.
void check_einsum(InferContext& context, const Infos&) {
  const std::string equation = context.string_param("equation");
  const std::string plain = parse_einsum(equation).renamed();
  if (plain != "abcd,adce->abce" && plain != "abc,cbd->abd") {
    context.reject("coremltools has no equation \"{}\"", equation);
  }
  const std::vector<const ValueInfo*> values = context.inputs("values");
  const Shape &x = values[0]->shape, &y = values[1]->shape;
  if (known_equal(x.back(), y[y.size() - 3]) == false) {
    context.reject("x {} and y {}: coremltools does not broadcast a summed axis", to_string(x),
                   to_string(y));
  }
}

constexpr std::pair<std::string_view, ShapeCheck> kShapeChecks[] = {
    {"select", check_select},   {"concat", check_concat},
    {"tile", check_tile},       {"slice_update", check_slice_update},
    {"matmul", check_matmul},   {"scaled_dot_product_attention", check_attention},
    {"pad", check_pad},         {"prelu", check_prelu},
    {"reshape", check_reshape}, {"einsum", check_einsum},
};

}  // namespace

void check_written(InferContext& context, const Infos& outputs) {
  for (const TypeGroup& group : kTypeGroups) {
    if (applies(group, context)) check_types(context, group);
  }
  for (const auto& [op, check] : kShapeChecks) {
    if (op == context.operation().type()) check(context, outputs);
  }
}

}  // namespace pippin::mil
