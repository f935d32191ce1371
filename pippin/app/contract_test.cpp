// convert() writes exactly the names in the headers of families/.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "pippin/app/convert/convert.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/families/anemll.h"
#include "pippin/families/package.h"
#include "pippin/families/stateful.h"
#include "pippin/families/windowed.h"
#include "pippin/io/json.h"
#include "pippin/io/model_files.h"
#include "pippin/io/yaml.h"
#include "pippin/mil/package/package.h"

namespace pippin::app {
namespace {

namespace fs = std::filesystem;
namespace stateful = families::stateful;
namespace anemll = families::anemll;
namespace windowed = families::windowed;
using Names = std::set<std::string>;

// All names of one kind in packages.
struct Found {
  Names functions, inputs, outputs, states, metadata;

  void add(const mil::Model& model) {
    for (const mil::FunctionDescription& function : model.functions) {
      functions.insert(function.name);
      for (const mil::Feature& input : function.inputs) inputs.insert(input.name);
      for (const mil::Feature& output : function.outputs) outputs.insert(output.name);
      for (const mil::Feature& state : function.states) states.insert(state.name);
    }
    for (const auto& [key, value] : model.metadata.user_defined) metadata.insert(key);
    const auto info = model.program.attributes.find(families::kBuildInfo);
    ASSERT_NE(info, model.program.attributes.end());
    ASSERT_EQ(info->second.elements.size(), 2u);
    EXPECT_EQ(info->second.elements[0].to_string_value(), families::kBuildInfoVersion);
  }
};

Found read(const fs::path& package) {
  Found found;
  found.add(mil::read_package(package));
  return found;
}

Names keys_of(const Json& object) {
  Names keys;
  for (const auto& [key, value] : object.members()) keys.insert(std::string(key));
  return keys;
}

// The packages and descriptions of a folder.
Names files_of(const fs::path& folder) {
  Names names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const ModelFile* row = find_model_file(name);
    if (row == nullptr || row->role == FileRole::Family) names.insert(name);
  }
  return names;
}

Names with(Names names, const Names& more) {
  names.insert(more.begin(), more.end());
  return names;
}

Names every_package() {
  return {families::kMadeFromKey, families::kArchitectureKey, families::kVersionKey,
          families::kFamilyKey};
}

TEST(Contract, OfAStatefulPackage) {
  const TempDir scratch;
  const fs::path output = scratch / (std::string("m") + families::kPackageEnding);
  ConvertOptions options;
  options.family = stateful::kName;
  options.prefill_length = 8;
  convert(demo_model_folder(), output, options);
  const Found found = read(output);
  EXPECT_EQ(found.functions, (Names{families::kMain, stateful::kPrefill}));
  EXPECT_EQ(found.inputs, (Names{stateful::kIds, stateful::kMask}));
  EXPECT_EQ(found.outputs, Names{stateful::kLogits});
  EXPECT_EQ(found.states, (Names{stateful::kKeys, stateful::kValues}));
  EXPECT_EQ(found.metadata, every_package());
  const mil::Model model = mil::read_package(output);
  EXPECT_EQ(model.metadata.user_defined.at(families::kFamilyKey), stateful::kName);
}

// A model with short convolutions carries additional states next to its keys and values, and
// declares them.
TEST(Contract, OfCarriedStates) {
  const TempDir scratch;
  write_file(scratch / "config.json",
             R"({"model_type": "lfm2", "architectures": ["Lfm2ForCausalLM"], "hidden_size": 16,
  "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
  "num_key_value_heads": 1, "vocab_size": 32, "max_position_embeddings": 64, "norm_eps": 1e-5,
  "conv_L_cache": 3, "conv_bias": false, "block_auto_adjust_ff_dim": false,
  "layer_types": ["conv", "full_attention"], "rope_theta": 10000.0})");
  ConvertOptions options;
  options.random_weights = true;
  convert(scratch / "config.json", scratch / "m.mlpackage", options);
  const mil::Model model = mil::read_package(scratch / "m.mlpackage");
  const std::string carried = model.metadata.user_defined.at(stateful::kCarriedStatesKey);
  Found found;
  found.add(model);
  EXPECT_EQ(found.metadata, with(every_package(), {stateful::kCarriedStatesKey}));
  EXPECT_EQ(found.states, (Names{stateful::kKeys, stateful::kValues, carried}));
}

class AnemllContract : public testing::TestWithParam<bool> {};

TEST_P(AnemllContract, OfAFolder) {
  const TempDir scratch;
  ConvertOptions options;
  options.family = anemll::kName;
  options.prefix = "p";
  options.chunks = 2;
  options.argmax_in_model = GetParam();
  options.compression.lut_ffn = "4";
  options.compression.min_elements = 1;
  const fs::path folder = convert(demo_model_folder(), scratch / "out", options).path;
  const auto file = [](const std::string& stem) { return stem + families::kPackageEnding; };
  const std::string chunks = anemll::stem("p", anemll::kChunksPart, 4);
  const std::string embeddings = file(anemll::stem("p", anemll::kEmbeddingsPart, 0));
  const std::string head = file(anemll::stem("p", anemll::kHeadPart, 0));
  const std::string first = file(anemll::chunk_stem(chunks, 1, 2));
  EXPECT_EQ(files_of(folder), (Names{anemll::meta::kFile, embeddings, head, first,
                                     file(anemll::chunk_stem(chunks, 2, 2))}));
  const Names metadata = with(every_package(), {anemll::kInfoKey, anemll::kContextKey,
                                                anemll::kStateLengthKey, anemll::kBatchKey});

  const Found of_embeddings = read(folder / embeddings);
  EXPECT_EQ(of_embeddings.functions, Names{families::kMain});
  EXPECT_EQ(of_embeddings.inputs, Names{anemll::kIds});
  EXPECT_EQ(of_embeddings.outputs, Names{anemll::kHidden});
  EXPECT_EQ(of_embeddings.metadata, metadata);

  const Found of_chunk = read(folder / first);
  EXPECT_EQ(of_chunk.functions, (Names{anemll::kInfer, anemll::kPrefill}));
  EXPECT_EQ(of_chunk.inputs,
            (Names{anemll::kHidden, anemll::kPositions, anemll::kMask, anemll::kCurrentPosition}));
  EXPECT_EQ(of_chunk.outputs, Names{anemll::kOutputHidden});
  EXPECT_EQ(of_chunk.states, Names{anemll::kCache});
  EXPECT_EQ(of_chunk.metadata, with(metadata, {anemll::kNumChunksKey, anemll::kLutBitsKey,
                                               anemll::kChunkKey, anemll::kFunctionsKey}));

  const Found of_head = read(folder / head);
  Names outputs = {anemll::kArgmaxIndex, anemll::kArgmaxValue};
  if (!GetParam()) {
    outputs.clear();
    for (int64_t part = 1; part <= 8; ++part) outputs.insert(anemll::logits(part));
  }
  EXPECT_EQ(of_head.functions, Names{families::kMain});
  EXPECT_EQ(of_head.inputs, Names{anemll::kHidden});
  EXPECT_EQ(of_head.outputs, outputs);
  EXPECT_EQ(of_head.metadata,
            with(metadata, {anemll::kVocabularyKey, anemll::kHeadSizesKey, anemll::kArgmaxKey}));

  const Json parameters =
      load_yaml(folder / anemll::meta::kFile).at(anemll::meta::kInfo).at(anemll::meta::kParameters);
  const Names said = keys_of(parameters);
  for (const char* key :
       {anemll::meta::kContext, anemll::meta::kBatch, anemll::meta::kNumChunks,
        anemll::meta::kPrefix, anemll::meta::kEmbeddings, anemll::meta::kHead,
        anemll::meta::kChunks, anemll::meta::kPrefillChunks, anemll::meta::kSplitHead,
        anemll::meta::kArgmax, anemll::meta::kVocabulary, anemll::meta::kHeadSizes,
        anemll::meta::kUpdateMaskPrefill, anemll::meta::kDynamicSlicePrefill}) {
    EXPECT_TRUE(said.contains(key)) << key;
  }
}

INSTANTIATE_TEST_SUITE_P(Heads, AnemllContract, testing::Bool());

TEST(Contract, OfAWindowedFolder) {
  const TempDir scratch;
  ConvertOptions options;
  options.family = windowed::kName;
  options.prefix = "p";
  options.context = 64;
  options.window = 16;
  options.cache = 48;
  options.blocks_per_chunk = 100;
  const fs::path folder = convert(demo_model_folder(), scratch / "out", options).path;
  const auto file = [](const std::string& stem) { return stem + families::kPackageEnding; };
  const auto chunk = [&](int64_t number) { return file(windowed::chunk_stem("p", number)); };
  EXPECT_EQ(files_of(folder),
            (Names{windowed::meta::kFile, chunk(1), chunk(2), chunk(3),
                   file(windowed::kCacheProcessor), file(windowed::kLogitProcessor)}));
  const Names metadata = with(every_package(), {windowed::kContextKey, windowed::kNumChunksKey});
  const Names metadata_of_chunk = with(metadata, {windowed::kChunkKey});

  const Found first = read(folder / chunk(1));
  const Names shared = {windowed::kStream, windowed::kCos, windowed::kSin, windowed::kMask};
  EXPECT_EQ(first.functions, Names{families::kMain});
  EXPECT_EQ(first.inputs, (Names{windowed::kIds, windowed::kLength}));
  EXPECT_EQ(first.outputs, shared);
  EXPECT_EQ(first.metadata, metadata_of_chunk);

  const Found layers = read(folder / chunk(2));
  const int64_t count =
      Json::load(demo_model_folder() / "config.json").get_int("num_hidden_layers");
  Names inputs = shared, outputs = {windowed::updated(windowed::kStream)};
  for (int64_t i = 0; i < count; ++i) {
    for (const std::string& name : {windowed::key_cache(i), windowed::value_cache(i)}) {
      inputs.insert(name);
      outputs.insert(windowed::updated(name));
    }
  }
  EXPECT_EQ(layers.inputs, inputs);
  EXPECT_EQ(layers.outputs, outputs);
  EXPECT_EQ(layers.states, Names());
  EXPECT_EQ(layers.metadata, metadata_of_chunk);

  const Found head = read(folder / chunk(3));
  EXPECT_EQ(head.inputs, Names{windowed::kStream});
  EXPECT_EQ(head.outputs, Names{windowed::logits(0, 1)});
  EXPECT_EQ(head.metadata, metadata_of_chunk);

  const Found caches = read(folder / file(windowed::kCacheProcessor));
  EXPECT_EQ(caches.inputs, (Names{windowed::kOldKeys, windowed::kOldValues, windowed::kNewKeys,
                                  windowed::kNewValues}));
  EXPECT_EQ(caches.outputs, (Names{windowed::kUpdatedKeys, windowed::kUpdatedValues}));
  EXPECT_EQ(caches.metadata, metadata);
  const Found tokens = read(folder / file(windowed::kLogitProcessor));
  EXPECT_EQ(tokens.inputs, Names{windowed::logits(0, 1)});
  EXPECT_EQ(tokens.outputs, Names{windowed::kArgmax});

  const Names said = keys_of(Json::load(folder / windowed::meta::kFile));
  EXPECT_TRUE(said.contains(windowed::meta::kFamily));
  EXPECT_TRUE(said.contains(windowed::meta::kContext));
}

}  // namespace
}  // namespace pippin::app
