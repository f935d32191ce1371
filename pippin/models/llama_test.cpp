#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"
#include "pippin/mil/text.h"
#include "pippin/models/registry.h"

namespace pippin::models {
namespace {

TEST(Llama, RecordsStories) {
  PIPPIN_SHARED_OR_SKIP(folder, "models/stories260K");
  const mil::Model model = build(folder, {.context = 64});
  std::puts(mil::print(model.program).c_str());
}

}  // namespace
}  // namespace pippin::models
