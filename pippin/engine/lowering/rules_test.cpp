// Lists the ops that run on the reference, slowly, at every precision.
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
    // Compressed weights are lowered by form, and plans contain pure operations only.
    const bool planned =
        op.pure && !op.traits.has(mil::Trait::Constant) && !op.traits.has(mil::Trait::Compressed);
    if (planned && find_rule(op.name) == nullptr) slow.insert(op.name);
  }
  // An op that is added to the table needs a rule, or an entry here.
  const std::set<std::string_view> expected = {
      // Control flow, lists, dictionaries and sizes are handled outside of plans or without steps.
      "classify", "cond", "list_gather", "list_length", "list_read", "list_scatter", "list_write",
      "make_list", "shape", "while_loop",
      // The size of the result is known only at run time.
      "non_zero", "pick_top_boxes",
      // Its weights are stored as codes.
      "conv_quantized"};
  EXPECT_EQ(slow, expected) << fmt::format("{}", fmt::join(slow, "\", \""));
}

}  // namespace
}  // namespace pippin::engine
