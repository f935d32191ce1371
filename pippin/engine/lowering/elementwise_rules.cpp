// Elementwise rules: unary, binary, comparisons, logic, select, casts.
#include <algorithm>
#include <array>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/elementwise_step.h"
#include "pippin/engine/lowering/planes.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

using kernels::BinaryOp;
using kernels::CompareOp;
using kernels::UnaryOp;

void lower_unary(Builder& builder, const mil::Operation& operation, UnaryOp op, float alpha = 0,
                 float beta = 0) {
  const mil::ValueInfo& output = builder.info(operation.output());
  if (!mil::is_float(output.type)) return integer_map(builder, operation);
  const Finish finish = {.op = op, .name = operation.type(), .alpha = alpha, .beta = beta};
  if (finish_where_computed(builder, operation, operation.input_var("x"), {finish})) return;
  const View x = builder.floats(operation, "x");
  builder.define_output(operation, unary_step(builder, operation.type(), op, x, alpha, beta));
}

template <UnaryOp op>
void unary(Builder& builder, const mil::Operation& operation) {
  lower_unary(builder, operation, op);
}

// alpha is the parameter `name`.
template <UnaryOp op>
void unary_epsilon(Builder& builder, const mil::Operation& operation) {
  lower_unary(builder, operation, op,
              static_cast<float>(float_param(builder, operation, "epsilon")));
}
template <UnaryOp op>
void unary_alpha(Builder& builder, const mil::Operation& operation) {
  lower_unary(builder, operation, op, static_cast<float>(float_param(builder, operation, "alpha")));
}
template <UnaryOp op>
void unary_alpha_beta(Builder& builder, const mil::Operation& operation) {
  lower_unary(builder, operation, op, static_cast<float>(float_param(builder, operation, "alpha")),
              static_cast<float>(float_param(builder, operation, "beta")));
}

void gelu(Builder& builder, const mil::Operation& operation) {
  const std::string mode = string_param(builder, operation, "mode");
  if (mode == "EXACT") {
    lower_unary(builder, operation, UnaryOp::Gelu);
  } else if (mode == "TANH_APPROXIMATION") {
    lower_unary(builder, operation, UnaryOp::GeluTanh);
  } else if (mode == "SIGMOID_APPROXIMATION") {
    lower_unary(builder, operation, UnaryOp::GeluSigmoid);
  } else {
    fail(ErrorCode::InvalidFile, "{}: mode '{}' does not exist", builder.where(operation), mode);
  }
}

// Two inputs in the storage in which the operation computes, broadcast to `shape`.
std::array<View, 2> two_inputs(Builder& builder, const mil::Operation& operation,
                               const mil::Shape& shape) {
  View x = builder.view(operation, "x"), y = builder.view(operation, "y");
  const Storage storage = is_float(x.storage) || is_float(y.storage) ? Storage::F32 : Storage::I32;
  return {broadcast_view(builder.view_as(x, storage), shape),
          broadcast_view(builder.view_as(y, storage), shape)};
}

// Memory for a result of two inputs that were broadcast, in the layout of the one that was not.
View allocate_result(Builder& builder, Storage storage, const std::array<View, 2>& inputs) {
  const auto repeats = [](const View& view) {
    for (size_t i = 0; i < view.shape.size(); ++i) {
      if (view.strides[i] == mil::Dim(0) && !(view.shape[i] == mil::Dim(1))) return true;
    }
    return false;
  };
  return builder.allocate_like(storage, repeats(inputs[0]) ? inputs[1] : inputs[0]);
}

template <BinaryOp op>
void binary(Builder& builder, const mil::Operation& operation) {
  const mil::ValueInfo& output = builder.info(operation.output());
  if (op == BinaryOp::Add && mil::is_float(output.type)) {
    if (add_where_computed(builder, operation)) return;
  }
  const auto inputs = two_inputs(builder, operation, output.shape);
  View out = allocate_result(builder, inputs[0].storage, inputs);
  builder.emit(BinaryNode{operation.type(), op}, in_memory_order({out, inputs[0], inputs[1]}));
  builder.define_output(operation, builder.view_as(out, run_storage(output.type)));
}

template <CompareOp op>
void compare(Builder& builder, const mil::Operation& operation) {
  const mil::Shape& shape = builder.info(operation.output()).shape;
  const auto [x, y] = two_inputs(builder, operation, shape);
  View out = builder.allocate(Storage::Bool, shape);
  builder.emit(CompareNode{operation.type(), op}, {out, x, y});
  builder.define_output(operation, out);
}

template <LogicOp op>
void logic(Builder& builder, const mil::Operation& operation) {
  const mil::Shape& shape = builder.info(operation.output()).shape;
  const View x =
      broadcast_view(builder.view_as(builder.view(operation, "x"), Storage::Bool), shape);
  const View y =
      op == LogicOp::Not
          ? x
          : broadcast_view(builder.view_as(builder.view(operation, "y"), Storage::Bool), shape);
  View out = builder.allocate(Storage::Bool, shape);
  builder.emit(LogicNode{operation.type(), op}, {out, x, y});
  builder.define_output(operation, out);
}

void select(Builder& builder, const mil::Operation& operation) {
  const mil::ValueInfo& output = builder.info(operation.output());
  const Storage storage = run_storage(output.type);
  const Storage wide =
      storage == Storage::Bool ? Storage::I32 : storage;  // the kernel moves 4 bytes
  const auto input = [&](std::string_view name, Storage as) {
    return broadcast_view(builder.view_as(builder.view(operation, name), as), output.shape);
  };
  const View cond = input("cond", Storage::Bool), a = input("a", wide), b = input("b", wide);
  View out = builder.allocate(wide, output.shape);
  builder.emit(SelectNode{}, {out, cond, a, b});
  builder.define_output(operation, builder.view_as(out, storage));
}

void cast(Builder& builder, const mil::Operation& operation) {
  const View x = builder.view(operation, "x");
  const mil::DataType to = builder.info(operation.output()).type;
  // Floats of every width are the same at run time, so a cast between them does nothing, also for a
  // weight as stored.
  if (mil::is_float(to) && is_float(x.storage)) {
    builder.define_output(operation, x);
    return;
  }
  View y = builder.view_as(x, run_storage(to));
  if (mil::is_integer(to) && mil::bit_width(to) < 32) {
    View narrow = builder.allocate(Storage::I32, y.shape);
    builder.emit(NarrowNode{mil::bit_width(to), mil::is_signed_integer(to), is_float(x.storage)},
                 {narrow, y});
    y = narrow;
  }
  builder.define_output(operation, y);
}

}  // namespace

View unary_step(Builder& builder, std::string name, UnaryOp op, const View& x, float alpha,
                float beta) {
  View y = builder.allocate_like(Storage::F32, x);
  builder.emit(UnaryNode{std::move(name), op, alpha, beta}, in_memory_order({y, x}));
  return y;
}

View sum_step(Builder& builder, std::string name, const View& a, const View& b) {
  View y = allocate_result(builder, Storage::F32, {a, b});
  builder.emit(BinaryNode{std::move(name), BinaryOp::Add}, in_memory_order({y, a, b}));
  return y;
}

void add_elementwise_rules(Rules& rules) {
  rules["abs"] = unary<UnaryOp::Abs>;
  rules["ceil"] = unary<UnaryOp::Ceil>;
  rules["cos"] = unary<UnaryOp::Cos>;
  rules["erf"] = unary<UnaryOp::Erf>;
  rules["exp"] = unary<UnaryOp::Exp>;
  rules["exp2"] = unary<UnaryOp::Exp2>;
  rules["floor"] = unary<UnaryOp::Floor>;
  rules["relu"] = unary<UnaryOp::Relu>;
  rules["relu6"] = unary<UnaryOp::Relu6>;
  rules["round"] = unary<UnaryOp::Round>;
  rules["sigmoid"] = unary<UnaryOp::Sigmoid>;
  rules["sign"] = unary<UnaryOp::Sign>;
  rules["silu"] = unary<UnaryOp::Silu>;
  rules["sin"] = unary<UnaryOp::Sin>;
  rules["softplus"] = unary<UnaryOp::Softplus>;
  rules["softsign"] = unary<UnaryOp::Softsign>;
  rules["sqrt"] = unary<UnaryOp::Sqrt>;
  rules["square"] = unary<UnaryOp::Square>;
  rules["tanh"] = unary<UnaryOp::Tanh>;
  rules["inverse"] = unary_epsilon<UnaryOp::Inverse>;
  rules["log"] = unary_epsilon<UnaryOp::Log>;
  rules["rsqrt"] = unary_epsilon<UnaryOp::Rsqrt>;
  rules["elu"] = unary_alpha<UnaryOp::Elu>;
  rules["leaky_relu"] = unary_alpha<UnaryOp::LeakyRelu>;
  rules["threshold"] = unary_alpha<UnaryOp::Threshold>;
  rules["clip"] = unary_alpha_beta<UnaryOp::Clip>;
  rules["linear_activation"] = unary_alpha_beta<UnaryOp::Linear>;
  rules["scaled_tanh"] = unary_alpha_beta<UnaryOp::ScaledTanh>;
  rules["sigmoid_hard"] = unary_alpha_beta<UnaryOp::SigmoidHard>;
  rules["gelu"] = gelu;
  rules["add"] = binary<BinaryOp::Add>;
  rules["sub"] = binary<BinaryOp::Sub>;
  rules["mul"] = binary<BinaryOp::Mul>;
  rules["real_div"] = binary<BinaryOp::Div>;
  rules["floor_div"] = binary<BinaryOp::FloorDiv>;
  rules["mod"] = binary<BinaryOp::Mod>;
  rules["maximum"] = binary<BinaryOp::Maximum>;
  rules["minimum"] = binary<BinaryOp::Minimum>;
  rules["pow"] = binary<BinaryOp::Pow>;
  rules["equal"] = compare<CompareOp::Equal>;
  rules["not_equal"] = compare<CompareOp::NotEqual>;
  rules["less"] = compare<CompareOp::Less>;
  rules["less_equal"] = compare<CompareOp::LessEqual>;
  rules["greater"] = compare<CompareOp::Greater>;
  rules["greater_equal"] = compare<CompareOp::GreaterEqual>;
  rules["logical_and"] = logic<LogicOp::And>;
  rules["logical_or"] = logic<LogicOp::Or>;
  rules["logical_xor"] = logic<LogicOp::Xor>;
  rules["logical_not"] = logic<LogicOp::Not>;
  rules["select"] = select;
  rules["cast"] = cast;
}

}  // namespace pippin::engine
