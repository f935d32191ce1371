// Tiny models of several architectures against the forward passes of make_goldens.py, which wrote
// goldens.json. (tests/architectures_test.cpp has Hugging Face's own logits of all architectures.)
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/engine/reference/reference.h"
#include "pippin/io/json.h"
#include "pippin/io/safetensors_writer.h"
#include "pippin/mil/check/verify.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/registry.h"
#include "tests/reference_logits.h"

namespace pippin::models {
namespace {

std::vector<double> logits_of(const Json& golden) {
  std::vector<double> logits;
  for (const Json& row : golden.at("logits").elements()) {
    for (const Json& value : row.elements()) logits.push_back(value.as_float());
  }
  return logits;
}

// The whole prompt at once, and in two parts through the cache.
void expect_logits(const mil::Model& model, const Json& golden, double tolerance) {
  mil::verify(model.program);
  const engine::ReferenceInterpreter interpreter(model.program, "main");
  std::vector<int32_t> ids;
  for (const int64_t id : golden.get_ints("ids")) ids.push_back(static_cast<int32_t>(id));
  const std::vector<double> expected = logits_of(golden);
  for (const size_t first : {ids.size(), ids.size() / 2}) {
    SCOPED_TRACE(first);
    engine::ReferenceState state;
    auto logits = reference_logits(interpreter, state, std::span(ids).first(first), 0);
    if (first < ids.size()) {
      const auto rest = reference_logits(interpreter, state, std::span(ids).subspan(first),
                                         static_cast<int64_t>(first));
      logits.insert(logits.end(), rest.begin(), rest.end());
    }
    EXPECT_LE(max_difference(logits, expected), tolerance);
  }
}

TEST(Goldens, LogitsAreThoseOfTheirForwardPasses) {
  const Json goldens = Json::load(source_dir() / "pippin/models/goldens.json");
  for (const Json& golden : goldens.at("cases").elements()) {
    SCOPED_TRACE(golden.at("config").get_string("model_type"));
    const TempDir folder;
    write_made_model(folder.path(), golden);
    const auto direct = BuildOptions::Compute::Float32Direct;
    expect_logits(build(folder.path(), {.context = 32, .compute = direct}), golden, 3e-6);
    expect_logits(build(folder.path(), {.context = 32}), golden,
                  0.01);  // every value rounded to fp16
  }
}

}  // namespace
}  // namespace pippin::models
