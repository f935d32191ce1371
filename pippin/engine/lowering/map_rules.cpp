// Functions of one element without a kernel: rare ones, and those of integers.
#include <algorithm>
#include <iterator>

#include "pippin/base/error.h"
#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/elementwise_step.h"
#include "pippin/engine/lowering/rules.h"
#include "pippin/mil/ops/op.h"

namespace pippin::engine {
namespace {

void map(Builder& builder, const mil::Operation& operation) {
  MapNode node{operation.type()};
  for (const mil::Parameter& parameter :
       mil::find_op(operation.type(), builder.opset())->parameters) {
    if (parameter.name == "alpha") node.alpha = float_param(builder, operation, "alpha");
    if (parameter.name == "beta") node.beta = float_param(builder, operation, "beta");
  }
  const Storage storage = run_storage(builder.info(operation.output()).type);
  const View x = builder.view_as(builder.view(operation, "x"), storage);
  const View y = builder.allocate_like(storage, x);
  builder.emit(std::move(node), in_memory_order({y, x}));
  builder.define_output(operation, y);
}

}  // namespace

void integer_map(Builder& builder, const mil::Operation& operation) {
  constexpr std::string_view kOfIntegers[] = {"abs",   "ceil", "clip",   "floor",
                                              "round", "sign", "square", "threshold"};
  need_whole_integers(builder, operation);
  if (std::find(std::begin(kOfIntegers), std::end(kOfIntegers), operation.type()) ==
      std::end(kOfIntegers)) {
    fail(ErrorCode::Unsupported, "{}: elements of type {}", builder.where(operation),
         mil::to_string(builder.info(operation.output()).type));
  }
  map(builder, operation);
}

void add_map_rules(Rules& rules) {
  for (const std::string_view op : {"acos", "asin", "atan", "atanh", "cosh", "sinh", "tan",
                                    "clamped_relu", "thresholded_relu"}) {
    rules[op] = map;
  }
}

}  // namespace pippin::engine
