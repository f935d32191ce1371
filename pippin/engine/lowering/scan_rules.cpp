// cumsum: sums along an axis.
#include <algorithm>

#include "pippin/engine/lowering/axes.h"
#include "pippin/engine/lowering/rules.h"

namespace pippin::engine {
namespace {

void cumsum(Builder& builder, const mil::Operation& operation) {
  need_whole_integers(builder, operation);
  const mil::ValueInfo& output = builder.info(operation.output());
  const Storage storage = run_storage(output.type);
  const View x = builder.view_as(builder.view(operation, "x"), storage);
  const int64_t axis = normalize_axis(int_param(builder, operation, "axis"), x.rank());
  const View lines = around_axis(builder, x, axis);
  const View y = builder.allocate(storage, output.shape);
  builder.emit(CumulativeSumNode{bool_param(builder, operation, "exclusive"),
                                 bool_param(builder, operation, "reverse")},
               {*reshape_view(y, lines.shape), lines});
  builder.define_output(operation, y);
}

}  // namespace

void add_scan_rules(Rules& rules) {
  rules["cumsum"] = cumsum;
}

}  // namespace pippin::engine
