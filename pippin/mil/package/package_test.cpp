#include "pippin/mil/package/package.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <random>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "pippin/base/error.h"
#include "pippin/base/error_testing.h"
#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/cancel.h"
#include "pippin/io/blob_file.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/summary.h"
#include "pippin/mil/proto/serialize.h"
#include "pippin/mil/text/text.h"

namespace pippin::mil {
namespace {

namespace fs = std::filesystem;

constexpr const char* kModelPath = "Data/com.apple.CoreML/model.mlmodel";
constexpr const char* kWeightPath = "Data/com.apple.CoreML/weights/weight.bin";

void put(const fs::path& path, std::string_view content) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

// "code: message" of the error that reading throws, or "no error".
std::string read_error(const fs::path& path) {
  return thrown_fault([&] { read_package(path); });
}

Feature array_feature(const std::string& name, DataType type, std::vector<int64_t> shape) {
  Feature feature;
  feature.name = name;
  feature.data_type = type;
  feature.shape = std::move(shape);
  return feature;
}

// y = x + w, with a weight that is stored in the weight file.
Model small_model() {
  Model model;
  auto function = std::make_unique<Function>();
  function->opset = "CoreML8";
  Var* x = function->add_input("x", ValueType::tensor(DataType::Float16, {16}));
  auto block = std::make_unique<Block>();
  Operation& weight = block->append("const");
  std::vector<double> numbers(16);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i);
  weight.attributes()["val"] = Value::of_floats(DataType::Float16, numbers, {16});
  Var* w = weight.add_output("w", x->type);
  Operation& add = block->append("add");
  add.inputs()["x"] = {x};
  add.inputs()["y"] = {w};
  block->outputs().push_back(add.add_output("y", x->type));
  function->specializations["CoreML8"] = std::move(block);
  model.program.functions["main"] = std::move(function);
  FunctionDescription description;
  description.name = "main";
  description.inputs.push_back(array_feature("x", DataType::Float16, {16}));
  description.outputs.push_back(array_feature("y", DataType::Float16, {16}));
  model.functions.push_back(std::move(description));
  return model;
}

TEST(Package, WritesAndReadsAModel) {
  TempDir folder;
  Model model = small_model();
  model.metadata = {"short", "1.0", "me", "MIT", {{"key", "value"}}};
  model.functions[0].inputs[0].ranges = {{1, -1}};
  model.functions[0].inputs[0].description = "the input";
  uint64_t done = 0, total = 0;
  WriteOptions options;
  options.extra_files = {{"huggingface", "tokenizer.json", "{}"},
                         {"huggingface", "config.json", "{\"a\": 1}"}};
  options.progress = [&](uint64_t now, uint64_t all) { done = now, total = all; };
  write_package(model, folder / "m.mlpackage", options);
  EXPECT_EQ(done, 32u);
  EXPECT_EQ(total, 32u);
  EXPECT_EQ(read_file(folder / "m.mlpackage/Data/huggingface/config.json"), "{\"a\": 1}");

  const Model again = read_package(folder / "m.mlpackage");
  EXPECT_EQ(again.specification_version, 9);
  EXPECT_FALSE(again.multifunction);
  EXPECT_EQ(again.metadata.user_defined.at("key"), "value");
  EXPECT_EQ(again.description("main").inputs[0].ranges, (std::vector<SizeRange>{{1, -1}}));
  EXPECT_EQ(again.description("main").inputs[0].description, "the input");
  EXPECT_ERROR(again.description("decode"), ErrorCode::NotFound,
               "no function 'decode' in the model's description; it has: main");
  const auto& operations = again.program.function("main").block().operations();
  const Value* weight = operations[0]->constant_value();
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->blob, (BlobReference{"@model_path/weights/weight.bin", 64}));
  EXPECT_EQ(weight->to_doubles()[15], 15.0);
  EXPECT_EQ(weight->source->view().size(), 32u);

  // The same model gives the same bytes, and replaces the existing package.
  const std::string before = read_file(folder / "m.mlpackage" / kModelPath);
  const std::string manifest = read_file(folder / "m.mlpackage/Manifest.json");
  write_package(again, folder / "m.mlpackage", options);
  EXPECT_EQ(read_file(folder / "m.mlpackage" / kModelPath), before);
  EXPECT_EQ(read_file(folder / "m.mlpackage/Manifest.json"), manifest);
}

TEST(Package, EqualSourcesAreStoredOnce) {
  TempDir folder;
  write_package(small_model(), folder / "a.mlpackage");
  Model model = read_package(folder / "a.mlpackage");
  Function& function = model.program.function("main");
  const Value weight = *function.block().operations()[0]->constant_value();
  Operation& copy = function.block().append("const");
  copy.attributes()["val"] = weight;
  copy.add_output("w2", weight.type);
  write_package(model, folder / "b.mlpackage");
  EXPECT_EQ(BlobFile::open(folder / "b.mlpackage" / kWeightPath)->count(), 1u);
  const Model again = read_package(folder / "b.mlpackage");
  const auto& operations = again.program.function("main").block().operations();
  EXPECT_EQ(operations[0]->constant_value()->source, operations[2]->constant_value()->source);
}

TEST(Package, WeightFilesThatAreAbsentMatterWhenUsed) {
  TempDir folder;
  const fs::path path = folder / "m.mlpackage";
  write_package(small_model(), path);
  fs::remove(path / kWeightPath);
  const Model model = read_package(path);
  const Value* weight = model.program.function("main").block().operations()[0]->constant_value();
  EXPECT_EQ(
      thrown_fault([&] { weight->read_bytes(); }),
      "not found: @model_path/weights/weight.bin: the package comes without this weight file");
  EXPECT_NE(thrown_fault([&] { write_package(model, folder / "n.mlpackage"); }).find("not found"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "n.mlpackage"));
}

// A package whose weight is read from `blob` instead.
void write_with_blob(const fs::path& path, const BlobReference& blob, DataType type,
                     int64_t count) {
  write_package(small_model(), path);
  Model model = small_model();
  Function& function = model.program.function("main");
  Value& value = function.block().operations()[0]->attributes()["val"];
  value.bytes.clear();
  value.type = ValueType::tensor(type, {count});
  value.blob = blob;
  put(path / kModelPath, serialize_model(model));
}

TEST(Package, DamagedWeightsAreRefused) {
  TempDir folder;
  const fs::path path = folder / "m.mlpackage";
  const std::string weights = "@model_path/weights/weight.bin";
  const auto error = [&](const BlobReference& blob, DataType type = DataType::Float16,
                         int64_t count = 16) {
    write_with_blob(path, blob, type, count);
    return read_error(path);
  };
  EXPECT_EQ(
      error({weights, 4096}),
      "invalid file: m.mlpackage: function 'main': const 'w': val: weight.bin: blob at offset "
      "4096: no room for its record in 192 bytes");
  EXPECT_NE(error({weights, 65}).find("not a positive multiple of 64"), std::string::npos);
  EXPECT_NE(error({weights, 128}).find("the record starts with 0x"), std::string::npos);
  EXPECT_NE(error({weights, 64}, DataType::BFloat16).find("holds float16"), std::string::npos);
  EXPECT_NE(error({weights, 64}, DataType::Float16, 17).find("has 32 bytes"), std::string::npos);
  EXPECT_NE(error({weights, 64}, DataType::Bool, 32).find("the constant is a tensor<bool"),
            std::string::npos);
  EXPECT_NE(error({"@model_path/../../../x.bin", 64}).find("leads out of the package"),
            std::string::npos);
  EXPECT_NE(error({"@model_path//etc/passwd", 64}).find("leads out of the package"),
            std::string::npos);
  EXPECT_NE(error({"/etc/passwd", 64}).find("must start with @model_path/"), std::string::npos);
  write_package(small_model(), path);
  fs::resize_file(path / kWeightPath, 140);
  EXPECT_NE(read_error(path).find("32 bytes of data at 128, the file has 140"), std::string::npos);
}

// Before iOS 18 these bytes were reserved; also, a file may hold more than the program names.
TEST(Package, OldWeightFilesAreRead) {
  TempDir folder;
  const fs::path path = folder / "m.mlpackage";
  write_package(small_model(), path);
  std::string bytes = read_file(path / kWeightPath);
  std::fill(bytes.begin() + 8, bytes.begin() + 64, '\xa5');         // the file's header
  std::fill(bytes.begin() + 64 + 24, bytes.begin() + 128, '\x5a');  // the record
  put(path / kWeightPath, bytes + "trailing bytes");
  const Model model = read_package(path);
  const Value* weight = model.program.function("main").block().operations()[0]->constant_value();
  EXPECT_EQ(weight->to_doubles()[15], 15.0);
}

TEST(Package, LinksMayNotLeadOut) {
  TempDir folder;
  const fs::path path = folder / "hub/snapshots/1/m.mlpackage";
  fs::create_directories(path.parent_path());
  write_package(small_model(), path);
  fs::rename(path / kWeightPath, folder / "elsewhere.bin");
  fs::create_symlink(folder / "elsewhere.bin", path / kWeightPath);
  EXPECT_NE(read_error(path).find("is a link out of the package"), std::string::npos);
  // The layout of the Hugging Face cache.
  fs::create_directories(folder / "hub/blobs");
  fs::rename(folder / "elsewhere.bin", folder / "hub/blobs/abc");
  fs::remove(path / kWeightPath);
  fs::create_symlink("../../../../../../../blobs/abc", path / kWeightPath);
  EXPECT_EQ(read_error(path), "no error");
}

TEST(Package, ManifestsAreChecked) {
  TempDir folder;
  const fs::path path = folder / "m.mlpackage";
  EXPECT_EQ(read_error(path), "not found: " + path.string() + ": no such package");
  write_package(small_model(), path);
  const auto error = [&](const std::string& version, const std::string& model,
                         const std::string& root = "A") {
    put(path / "Manifest.json", R"({"fileFormatVersion": ")" + version +
                                    R"(", "itemInfoEntries": {"A": {"path": ")" + model +
                                    R"("}}, "rootModelIdentifier": ")" + root + "\"}");
    return read_error(path);
  };
  const std::string good = "com.apple.CoreML/model.mlmodel";
  EXPECT_EQ(error("1.0.0", good), "no error");
  EXPECT_NE(error("1.0.1", good).find("up to 1.0.0 is read"), std::string::npos);
  EXPECT_NE(error("one", good).find("is not a version"), std::string::npos);
  EXPECT_NE(error("1.0.0", good, "B").find("no item for rootModelIdentifier 'B'"),
            std::string::npos);
  EXPECT_NE(error("1.0.0", "../../x").find("leads out of the package"), std::string::npos);
  EXPECT_NE(error("1.0.0", "/etc/passwd").find("leads out of the package"), std::string::npos);
  EXPECT_NE(error("1.0.0", "gone.mlmodel").find("does not exist"), std::string::npos);
  put(path / "Manifest.json", "{");
  EXPECT_NE(read_error(path).find("Manifest.json"), std::string::npos);
  fs::remove(path / "Manifest.json");
  EXPECT_NE(read_error(path).find("no Manifest.json and no coremldata.bin"), std::string::npos);
}

TEST(Package, NetworksOfOldBecomeProgramsWhenRead) {
  PIPPIN_SHARED_OR_SKIP(packages, "packages");
  const Model model = read_package(packages / "legacy-MNISTClassifier.mlmodel");
  EXPECT_EQ(model.kind, ModelKind::MlProgram);
  EXPECT_EQ(model.network_kind, "neuralNetworkClassifier");
  EXPECT_EQ(model.network_version, 1);
  TempDir folder;
  write_package(model, folder / "m.mlpackage");
  const Model written = read_package(folder / "m.mlpackage");
  EXPECT_EQ(written.network_kind, "");
  const auto count = [](const Model& one) {
    return one.program.function("main").block().operations().size();
  };
  EXPECT_EQ(count(written), count(model));
  EXPECT_GT(count(model), 0u);
}

TEST(Package, UnknownKindsOfModelsAreNamed) {
  TempDir folder;
  put(folder / "new.mlmodel", std::string("\x08\x01\xfa\x7c\x00", 5));  // field 1999
  const std::string error = read_error(folder / "new.mlmodel");
  EXPECT_EQ(error.find("unsupported: new.mlmodel: "), 0u) << error;
  EXPECT_NE(error.find("models of kind 1999 are not supported (specification version 1)"),
            std::string::npos)
      << error;
  put(folder / "odd.mlmodel", "\x08\x05\xc2\xf3\x01\x00");  // version 5, field 31208
  EXPECT_NE(read_error(folder / "odd.mlmodel").find("models of kind "), std::string::npos);
  put(folder / "empty.mlmodel", "");
  EXPECT_NE(read_error(folder / "empty.mlmodel").find("not a Core ML model"), std::string::npos);
}

TEST(Package, TheDescriptionMustSpeakOfTheProgram) {
  TempDir folder;
  const fs::path path = folder / "m.mlpackage";
  write_package(small_model(), path);
  Model model = small_model();
  model.functions[0].outputs[0].name = "z";
  put(path / kModelPath, serialize_model(model));
  EXPECT_NE(read_error(path).find("the output 'y' of the program is not in the description"),
            std::string::npos)
      << read_error(path);
  model.functions[0].outputs[0].name = "y";
  model.functions[0].inputs.clear();
  put(path / kModelPath, serialize_model(model));
  EXPECT_NE(read_error(path).find("the input 'x'"), std::string::npos);
}

TEST(Package, WritingChecksTheModel) {
  TempDir folder;
  Model model = small_model();
  EXPECT_NE(thrown_fault([&] { write_package(model, folder / "m.mlmodel"); }).find(".mlpackage"),
            std::string::npos);
  model.specification_version = 8;
  EXPECT_NE(thrown_fault([&] {
              write_package(model, folder / "m.mlpackage");
            }).find("needs specification version 9"),
            std::string::npos);
  model.specification_version = 9;
  WriteOptions options;
  options.extra_files = {{"huggingface", "../x", ""}};
  EXPECT_NE(thrown_fault([&] {
              write_package(model, folder / "m.mlpackage", options);
            }).find("not a file name"),
            std::string::npos);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(Package, CancellingLeavesNothing) {
  TempDir folder;
  const Model model = small_model();
  WriteOptions options;
  CancelToken token;
  const CancelScope scope(token);
  options.progress = [&](uint64_t, uint64_t) { token.request(); };
  EXPECT_EQ(
      thrown_fault([&] { write_package(model, folder / "m.mlpackage", options); }).find("cancel"),
      0u);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

// The file system does not let a file grow beyond a limit, like a full disk.
TEST(Package, AFullDiskLeavesNothing) {
  TempDir folder;
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{100, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const Model model = small_model();
  const std::string error = thrown_fault([&] { write_package(model, folder / "m.mlpackage"); });
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(error.find("input/output error: "), 0u) << error;
  EXPECT_NE(error.find("weight.bin"), std::string::npos) << error;
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

// Flipped bits cause either an error of one line or a program that every form can represent.
TEST(Package, FlippedBitsAreNoHarm) {
  PIPPIN_SHARED_OR_SKIP(coremltools, "coremltools");
  const unsigned seed = std::random_device()();
  RecordProperty("seed", static_cast<int>(seed));
  std::mt19937 random(seed);
  for (const char* name : {"llama_stateful", "g_control_flow", "c_ios18_joint_sparse_lut4"}) {
    const std::string bytes =
        read_file(coremltools / (std::string(name) + ".mlpackage") / kModelPath);
    int accepted = 0;
    for (int round = 0; round < 300; ++round) {
      std::string damaged = bytes;
      for (unsigned flips = 1 + random() % 4; flips > 0; --flips) {
        damaged[random() % damaged.size()] ^= static_cast<char>(1u << (random() % 8));
      }
      SCOPED_TRACE(fmt::format("seed {}, {}, round {}", seed, name, round));
      thrown_fault([&] {
        const Model model = parse_model(as_byte_span(damaged));
        const std::string again = serialize_model(model);
        ASSERT_EQ(serialize_model(parse_model(as_byte_span(again))), again);
        verify(model.program);
        const std::string text = print(model.program);
        ASSERT_EQ(print(parse_text(text, "text")), text);
        summary_json(model);
        ++accepted;
      });
    }
    EXPECT_GT(accepted, 0);
  }
}

// Images, default values and dictionaries of the interface, in the file and the summary.
TEST(Package, EveryKindOfFeatureIsKept) {
  Model model = small_model();
  model.functions[0].inputs[0].optional = true;
  model.functions[0].inputs[0].default_value = 0.5f;
  Feature image;
  image.name = "image";
  image.kind = Feature::Kind::Image;
  image.image = {{224, 112}, ColorSpace::Bgr, {}, SizeRange{1, 300}, SizeRange{1, -1}};
  Feature sizes = image;
  sizes.name = "sizes";
  sizes.image = {{8, 4}, ColorSpace::GrayscaleFloat16, {{8, 4}, {16, 8}}, {}, {}};
  Feature dictionary;
  dictionary.name = "dictionary";
  dictionary.kind = Feature::Kind::Dictionary;
  dictionary.string_keys = true;
  for (const Feature& feature : {image, sizes}) model.functions[0].inputs.push_back(feature);
  model.functions[0].outputs.push_back(dictionary);
  const std::string bytes = serialize_model(model);
  const Model again = parse_model(as_byte_span(bytes));
  EXPECT_EQ(serialize_model(again), bytes);
  const auto& inputs = again.functions[0].inputs;
  EXPECT_EQ(std::get<float>(inputs[0].default_value), 0.5f);
  EXPECT_EQ(inputs[1].image, image.image);
  EXPECT_EQ(inputs[2].image, sizes.image);
  EXPECT_TRUE(inputs[1].raw.empty());
  EXPECT_TRUE(again.functions[0].outputs[1].string_keys);
  const std::string text = summary_text(model);
  EXPECT_NE(text.find("x      fp16   [16]                               optional, 0.5"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("image  image  BGR 1..300 x 1.."), std::string::npos) << text;
  EXPECT_NE(text.find("sizes  image  grayscale float16 8 x 4 or 16 x 8"), std::string::npos)
      << text;
}

// Every kind in Model's oneof that is not an ML Program is read; an empty one may be invalid.
TEST(Package, EveryOtherKindIsRead) {
  for (const int field :
       {301, 302, 303, 304, 401, 402, 403,  404,  500,  501,  555,  556,  600,  601,
        603, 604, 606, 607, 609, 900, 2000, 2001, 2002, 2003, 2004, 2005, 2006, 3000}) {
    std::string bytes("\x08\x05", 2);  // version 5; then an empty message
    for (auto tag = static_cast<uint32_t>(field << 3 | 2);; tag >>= 7) {
      bytes += static_cast<char>(tag > 127 ? tag | 128 : tag);
      if (tag <= 127) break;
    }
    bytes += '\0';
    const std::string error = thrown_fault([&] { parse_model(as_byte_span(bytes)); });
    EXPECT_TRUE(error == "no error" || error.starts_with("invalid file: ")) << field << error;
    EXPECT_TRUE(is_model_kind(field)) << field;
  }
}

TEST(Package, TruncatedModelsAreRefused) {
  TempDir folder;
  const fs::path path = folder / "m.mlpackage";
  write_package(small_model(), path);
  const std::string bytes = read_file(path / kModelPath);
  for (size_t size = 0; size < bytes.size(); size += 3) {
    put(path / kModelPath, std::string_view(bytes).substr(0, size));
    EXPECT_NE(read_error(path), "no error") << size;
  }
}

}  // namespace
}  // namespace pippin::mil
