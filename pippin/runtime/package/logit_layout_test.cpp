#include "pippin/runtime/package/logit_layout.h"

#include <vector>

#include <gtest/gtest.h>

namespace pippin::runtime {
namespace {

struct Case {
  std::vector<int64_t> shape;
  int64_t query, rows, width, row_step, step;
};

TEST(LogitLayout, OfEveryForm) {
  for (const Case& one : {
           Case{{1, 64, 512}, 64, 64, 512, 512, 1},    // a row for each token
           Case{{64, 512}, 64, 64, 512, 512, 1},       //
           Case{{1, 512}, 64, 1, 512, 0, 1},           // the last token alone
           Case{{1, 1, 512}, 64, 1, 512, 0, 1},        //
           Case{{512}, 64, 1, 512, 0, 1},              //
           Case{{1, 512, 1, 64}, 64, 64, 512, 1, 64},  // channels first
           Case{{1, 512, 64}, 64, 64, 512, 1, 64},     //
           Case{{1, 512, 1, 1}, 64, 1, 512, 0, 1},     // ... of the last token alone
           Case{{1, 512, 1, 1}, 1, 1, 512, 0, 1},      // ... of one token
           Case{{1, 1, 64, 512}, 64, 64, 512, 512, 1},
           Case{{1, 64, 64}, 64, 64, 64, 64, 1},  // ambiguous: the usual layout
           Case{{1, 3, 512}, 64, 3, 512, 512, 1},
       }) {
    const LogitLayout layout = logit_layout(one.shape, one.query);
    EXPECT_EQ(layout.rows, one.rows);
    EXPECT_EQ(layout.width, one.width);
    EXPECT_EQ(layout.row_step, one.row_step);
    EXPECT_EQ(layout.step, one.step);
  }
}

}  // namespace
}  // namespace pippin::runtime
