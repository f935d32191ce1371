// Compares packages that Pippin makes with those that coremltools made of a model of the same sizes
// (shared data): the same operations with the same shapes, and the same interface where the family
// prescribes it.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/family/anemll.h"
#include "pippin/models/family/windowed.h"
#include "pippin/models/models_testing.h"
#include "pippin/models/registry.h"

namespace pippin {
namespace {

// "conv fp16 [1, 64, 1, 8]" and its count.
std::map<std::string, int> operations_of(const mil::Model& model, const std::string& function) {
  std::map<std::string, int> result;
  const auto add = [&](const mil::Operation& operation) {
    if (operation.type() == "const") return;
    std::string text = operation.type();
    for (const auto& output : operation.outputs()) text += " " + mil::to_string(output->type);
    ++result[text];
  };
  mil::for_each_operation(model.program.function(function).block(), add);
  return result;
}

std::map<std::string, int> types_of(const mil::Model& model, const std::string& function) {
  std::map<std::string, int> result;
  for (const auto& [text, count] : operations_of(model, function)) {
    result[text.substr(0, text.find(' '))] += count;
  }
  return result;
}

std::vector<std::string> interface_of(const mil::Model& model, const std::string& function) {
  std::vector<std::string> result;
  const mil::FunctionDescription& description = model.description(function);
  const auto add = [&](const char* kind, const std::vector<mil::Feature>& features) {
    for (const mil::Feature& feature : features) {
      std::string text =
          fmt::format("{} {} {} [{}]", kind, feature.name, mil::to_string(feature.data_type),
                      fmt::join(feature.shape, ", "));
      for (const mil::SizeRange& range : feature.ranges) {
        text += fmt::format(" {}..{}", range.lower, range.upper);
      }
      result.push_back(text);
    }
  };
  add("input", description.inputs);
  add("output", description.outputs);
  add("state", description.states);
  return result;
}

// The sizes of the coremltools-made Llama.
constexpr char kLlama[] = R"({"model_type": "llama", "vocab_size": 256, "hidden_size": 64,
  "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4,
  "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "max_position_embeddings": 128})";

class Structure : public testing::Test {
 protected:
  Structure() { models::write_random_model(folder_.path(), kLlama); }
  TempDir folder_;
};

void expect_same(const mil::Model& made, const mil::Model& reference) {
  EXPECT_EQ(interface_of(made, "main"), interface_of(reference, "main"));
  EXPECT_EQ(operations_of(made, "main"), operations_of(reference, "main"));
  EXPECT_EQ(made.program.function("main").opset, reference.program.function("main").opset);
  EXPECT_EQ(made.specification_version, reference.specification_version);
}

TEST_F(Structure, Windowed) {
  PIPPIN_SHARED_OR_SKIP(shared, "coremltools");
  models::WindowedOptions options;
  options.window = 8;
  options.cache = 24;
  options.blocks_per_chunk = 1;
  options.doubled_norms = false;  // as the reference writes them
  const auto parts = models::Windowed(folder_.path(), options).parts();
  ASSERT_EQ(parts.size(), 6u);
  const auto reference = [&](const char* name) {
    return mil::read_package(shared / (std::string(name) + ".mlpackage"));
  };
  // Chunk 1 differs: its angles come from tables, because fp16 angles have errors of up to 0.5 at
  // position 2048.
  EXPECT_EQ(interface_of(parts[0].model, "main"),
            interface_of(reference("bc1s_chunk0_embed"), "main"));
  expect_same(parts[1].model, reference("bc1s_chunk1"));
  expect_same(parts[2].model, reference("bc1s_chunk2"));
  expect_same(parts[3].model, reference("bc1s_chunk3_head"));
  expect_same(parts[4].model, reference("bc1s_cache_processor"));
}

// coremltools gives a select the shape of its branches, and rejects packages that declare another.
TEST_F(Structure, SelectsOfWindowedMasksHaveTheirBranchesShape) {
  models::WindowedOptions options;
  options.window = 8;
  options.cache = 24;
  const auto parts = models::Windowed(folder_.path(), options).parts();
  int count = 0;
  const auto check = [&](const mil::Operation& operation) {
    if (operation.type() != "select") return;
    ++count;
    const std::vector<int64_t>& declared = operation.output()->type.dims;
    EXPECT_EQ(declared, (std::vector<int64_t>{32, 8}));
    bool found = false;
    for (const char* branch : {"a", "b"}) {
      const auto* var = std::get_if<mil::Var*>(&operation.find_input(branch)->at(0));
      found = found || (var != nullptr && (*var)->type.dims == declared);
    }
    EXPECT_TRUE(found) << operation.output()->name;
  };
  mil::for_each_operation(parts.at(0).model.program.function("main").block(), check);
  EXPECT_EQ(count, 1);
}

TEST_F(Structure, Stateful) {
  PIPPIN_SHARED_OR_SKIP(path, "coremltools/llama_stateful.mlpackage");
  const mil::Model made = models::build(folder_.path()), reference = mil::read_package(path);
  EXPECT_EQ(interface_of(made, "main"), interface_of(reference, "main"));
  auto ours = types_of(made, "main"), theirs = types_of(reference, "main");
  // The computation of sizes and angles, and support for negative ids, are not part of the family.
  for (const char* name :
       {"shape", "gather", "sub", "add", "expand_dims", "concat", "cast", "select", "greater_equal",
        "squeeze", "range_1d", "cos", "sin", "mul", "equal", "real_div", "slice_by_index"}) {
    ours.erase(name);
    theirs.erase(name);
  }
  EXPECT_EQ(ours, theirs);
  EXPECT_EQ(made.program.function("main").opset, reference.program.function("main").opset);
}

// The ports that ANEMLL's runners use; they have them in one package.
TEST_F(Structure, Anemll) {
  PIPPIN_SHARED_OR_SKIP(path, "coremltools/llama_multifunction.mlpackage");
  const mil::Model reference = mil::read_package(path);
  const models::Anemll family(folder_.path(), {.batch = 16});
  const models::PackagePart chunk = family.chunk(0, 1);
  EXPECT_EQ(chunk.model.default_function, reference.default_function);
  for (const char* function : {"infer", "prefill"}) {
    auto ours = interface_of(chunk.model, function), theirs = interface_of(reference, function);
    const auto inputs = [](const std::vector<std::string>& lines) {
      std::vector<std::string> result;
      for (const std::string& line : lines) {
        const bool own = line.find("hidden_states") != line.npos;  // in theirs: ids, logits
        if (line.starts_with("input") && !own && line.find("input_ids") == line.npos) {
          result.push_back(line);
        }
      }
      return result;
    };
    EXPECT_EQ(inputs(ours), inputs(theirs));
    ASSERT_EQ(chunk.model.description(function).states.size(), 1u);
    EXPECT_EQ(chunk.model.description(function).states[0].shape,
              reference.description(function).states.at(0).shape);
    auto our_types = types_of(chunk.model, function), their_types = types_of(reference, function);
    for (const char* name : {"read_state", "write_state", "slice_update", "softmax", "silu"}) {
      EXPECT_EQ(our_types[name], their_types[name]) << name;
    }
    EXPECT_EQ(our_types["conv"], their_types["linear"] - 1);  // our head is a separate package
    EXPECT_EQ(our_types["linear"], 0);
  }
}

}  // namespace
}  // namespace pippin
