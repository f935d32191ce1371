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
  // An op that is added to the table needs a rule, or a place here.
  const std::set<std::string_view> expected = {
      // What plans are made of, or made without: control flow, lists, dictionaries, sizes.
      "classify", "cond", "list_gather", "list_length", "list_read", "list_scatter", "list_write",
      "make_list", "shape", "while_loop",
      // Only running tells how large the result is.
      "non_zero", "pick_top_boxes",
      // Its weights are codes themselves.
      "conv_quantized"};
  EXPECT_EQ(slow, expected) << fmt::format("{}", fmt::join(slow, "\", \""));
}

}  // namespace
}  // namespace pippin::engine
