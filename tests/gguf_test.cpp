// GGUF files as models: compares logits, greedy continuations and tokens with Hugging Face's for
// the same values, from the file and from the converted package; also damaged files.
#include "pippin/io/gguf.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pippin/app/convert/convert.h"
#include "pippin/app/facts/gguf_summary.h"
#include "pippin/app/open/gguf_model.h"
#include "pippin/app/open/hub_model.h"
#include "pippin/app/open/open_model.h"
#include "pippin/base/error.h"
#include "pippin/base/files/file.h"
#include "pippin/base/files/mapped_file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/base/threads/thread_pool.h"
#include "pippin/io/gguf_metadata.h"
#include "pippin/io/json.h"
#include "pippin/mil/check/verify.h"
#include "pippin/mil/package/package.h"
#include "pippin/models/registry.h"
#include "pippin/runtime/sequence.h"
#include "pippin/runtime/stateful/model.h"
#include "pippin/tokenizers/files/gguf_file.h"
#include "pippin/tokenizers/tokenizer.h"
#include "tests/gguf_testing.h"
#include "tests/golden_testing.h"
#include "tests/reference_logits.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;
using models::BuildOptions;
using testing_gguf::GgufFile;
using testing_models::Golden;

class GgufModel : public testing::TestWithParam<const char*> {
 protected:
  static std::string name() { return std::string("architectures2/") + GetParam(); }
};

void expect_golden(const mil::Model& model, const Golden& golden, double allowed, bool greedy) {
  ThreadPool pool(1);
  const runtime::LoadOptions options = {.compute = {.precision = engine::Precision::Exact}};
  const auto sequence = runtime::make_stateful_model(model, pool, options)->new_sequence();
  EXPECT_LE(max_difference(sequence->all_logits(golden.prompt), golden.logits), allowed);
  sequence->reset();
  std::span<const float> logits = sequence->prefill(golden.prompt);
  for (size_t i = 0; i < golden.generated.size(); ++i) {
    ASSERT_LE(max_difference(logits, golden.gen_row(i)), allowed) << "token " << i;
    if (greedy) {
      const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
      ASSERT_EQ(best, golden.generated[i]) << "token " << i;
    }
    if (i + 1 < golden.generated.size()) logits = sequence->decode(golden.generated[i]);
  }
}

TEST_P(GgufModel, RunsAsItIs) {
  PIPPIN_SHARED_OR_SKIP(folder, name());
  const Golden golden(folder);
  EXPECT_EQ(app::find_gguf(folder), folder / "model.gguf");
  const mil::Model model =
      models::build(app::gguf_folder(folder / "model.gguf"),
                    {.context = 128, .compute = BuildOptions::Compute::Float32Direct});
  mil::verify(model.program);
  expect_golden(model, golden, 1e-4, /*greedy=*/true);
}

TEST_P(GgufModel, BecomesAPackage) {
  PIPPIN_SHARED_OR_SKIP(folder, name());
  const Golden golden(folder);
  const TempDir out;
  const auto result = app::convert(folder / "model.gguf", out / "m.mlpackage", {.context = 128});
  // Scales, biases and values are rounded to 11 bits.
  EXPECT_LE(result.packed.largest, 1e-3);
  expect_golden(mil::read_package(out / "m.mlpackage"), golden, 0.03 * golden.largest_logit(),
                /*greedy=*/false);
}

TEST_P(GgufModel, EncodesAsItsTokenizerDoes) {
  PIPPIN_SHARED_OR_SKIP(folder, name());
  const Tokenizer tokenizer = Tokenizer::open(app::gguf_folder(folder / "model.gguf"));
  EXPECT_EQ(tokenizer.vocab_size(), static_cast<int64_t>(Golden(folder).vocabulary));
  if (!fs::exists(folder / "encode.json")) return;
  for (const Json& text : Json::load(folder / "encode.json").elements()) {
    const std::vector<int64_t> want = text.get_ints("ids");
    const std::vector<int32_t> got = tokenizer.encode(text.get_string("text"));
    EXPECT_EQ(std::vector<int64_t>(got.begin(), got.end()), want) << text.get_string("text");
  }
}

// Compares the tokenizer read from metadata with that read from the file built for it.
void expect_same_tables(const GgufContent& content, const std::string& name) {
  const auto file = tokenizers::gguf_tokenizer_file(content, name);
  if (file.name != "tokenizer.json") return;
  const auto direct = tokenizers::read_gguf_tokenizer(content, name);
  const auto through = tokenizers::read_json_file(file.text, name);
  EXPECT_EQ(direct.has_vocab, through.has_vocab);
  EXPECT_EQ(direct.has_scores, through.has_scores);
  EXPECT_EQ(direct.has_merges, through.has_merges);
  EXPECT_TRUE(direct.vocab_tokens == through.vocab_tokens);
  EXPECT_EQ(direct.vocab_ids, through.vocab_ids);
  EXPECT_EQ(direct.vocab_scores, through.vocab_scores);
  EXPECT_TRUE(direct.merge_parts == through.merge_parts);
  JsonWriter root, other;
  root.value(*direct.root);
  other.value(*through.root);
  EXPECT_EQ(root.text(), other.text());
}

TEST_P(GgufModel, HasTheTokenizerOfItsFile) {
  PIPPIN_SHARED_OR_SKIP(folder, name());
  const auto mapped = MappedFile::open(folder / "model.gguf");
  expect_same_tables(parse_gguf(mapped->bytes(), "model.gguf"), "model.gguf");
  const fs::path light = app::gguf_folder(folder / "model.gguf");
  const Tokenizer own = Tokenizer::open(light);
  const fs::path whole = app::gguf_folder_with_tokenizer(folder / "model.gguf");
  EXPECT_EQ(light, whole);
  EXPECT_TRUE(fs::exists(whole / "tokenizer.json") || fs::exists(whole / "tokenizer.model"));
  const Tokenizer files = Tokenizer::open(whole);
  for (const char* text : {"", "a", "Once upon  a time, 1234 \u00e9\n", "</s><s> <unk>"}) {
    EXPECT_EQ(own.encode(text), files.encode(text)) << text;
  }
}

TEST(GgufTokenizer, UglyTablesAreThoseOfTheFile) {
  const std::vector<std::string> tokens = {"a",
                                           "b",
                                           "ab",
                                           "\xff"
                                           "a",
                                           "",
                                           "a",
                                           "\"\\\n",
                                           "\xc3\xa9",
                                           "\xe2\x82",
                                           "\xed\xa0\x80",
                                           "<s>"};
  const auto check = [](const GgufFile& file) {
    const std::string bytes = file.all();
    expect_same_tables(parse_gguf(std::as_bytes(std::span(bytes.data(), bytes.size())), "m.gguf"),
                       "m.gguf");
  };
  GgufFile pairs;
  pairs.text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", tokens);
  pairs.number("tokenizer.ggml.bos_token_id", 10);
  GgufFile none = pairs;
  check(none.texts("tokenizer.ggml.merges", {}));
  check(pairs.texts("tokenizer.ggml.merges", {"a b", "#version: 0.2",
                                              "\xff"
                                              "a b",
                                              "\xc3\xa9 a"}));
  GgufFile scores;
  scores.text("tokenizer.ggml.model", "t5").texts("tokenizer.ggml.tokens", tokens);
  check(scores.reals("tokenizer.ggml.scores", std::vector<float>(tokens.size(), -0.1f)));
}

TEST(GgufTokenizer, SaysWhatIsWrongWithATable) {
  const auto expect = [](const GgufFile& file, const char* text) {
    const std::string bytes = file.all();
    const GgufContent content =
        parse_gguf(std::as_bytes(std::span(bytes.data(), bytes.size())), "m.gguf");
    EXPECT_ERROR(tokenizers::read_gguf_tokenizer(content, "m.gguf"), ErrorCode::InvalidFile, text);
  };
  GgufFile pairs;
  pairs.text("tokenizer.ggml.model", "gpt2").texts("tokenizer.ggml.tokens", {"a", "b", "ab"});
  for (const char* merge : {"ab", "a b ", ""}) {
    GgufFile file = pairs;
    expect(file.texts("tokenizer.ggml.merges", {"a b", merge}),
           "tokenizer.ggml.merges: merge 1 is not two tokens");
  }
  GgufFile scores;
  scores.text("tokenizer.ggml.model", "t5").texts("tokenizer.ggml.tokens", {"a", "b"});
  expect(scores.reals("tokenizer.ggml.scores", {0, INFINITY}),
         "tokenizer.ggml.scores: inf of token 1");
}

INSTANTIATE_TEST_SUITE_P(Files, GgufModel,
                         testing::Values("gguf_f16", "gguf_gemma3", "gguf_iq4_nl", "gguf_q4_0",
                                         "gguf_q4_k", "gguf_q5_k", "gguf_q8_0", "gguf_qwen2",
                                         "gguf_stories260k_q8_0"),
                         [](const auto& test) { return std::string(test.param); });

TEST(GgufFolder, SaysWhatItDoesNotKnow) {
  const TempDir dir;
  const fs::path path = dir / "m.gguf";
  GgufFile().text("general.architecture", "rwkv7").write(path);
  EXPECT_ERROR(app::gguf_folder(path), ErrorCode::Unsupported,
               "'rwkv7' is not supported as a model");
  GgufFile().number("general.architecture", 1).write(path);
  EXPECT_ERROR(app::gguf_folder(path), ErrorCode::InvalidFile, "general.architecture: no text");
  GgufFile().text("general.architecture", "llama").write(path);
  EXPECT_ERROR(app::gguf_folder(path), ErrorCode::InvalidFile, "llama.block_count: missing");
  const auto sizes = [] {
    GgufFile text;
    text.text("general.architecture", "llama").number("llama.block_count", 1);
    text.number("llama.attention.head_count", 1).number("llama.embedding_length", 4);
    return text;
  };
  sizes().write(path);
  EXPECT_ERROR(app::gguf_folder(path), ErrorCode::InvalidFile, "token_embd.weight");
  sizes().matrix("token_embd.weight").write(path);
  EXPECT_ERROR(app::gguf_folder(path), ErrorCode::InvalidFile, "llama.context_length: missing");
}

TEST(GgufSummary, SaysWhatIsInAFile) {
  PIPPIN_SHARED_OR_SKIP(file, "architectures2/gguf_q4_k/model.gguf");
  const Json json = Json::parse(app::gguf_summary_json(file), "summary");
  EXPECT_EQ(json.get_string("model_type"), "llama");
  EXPECT_FALSE(json.contains("refused"));
  const auto mapped = MappedFile::open(file);
  const GgufContent content = parse_gguf(mapped->bytes(), "model.gguf");
  int64_t tensors = 0;
  uint64_t bytes = 0;
  bool blocks = false;
  for (const Json& type : json.at("weights").at("types").elements()) {
    tensors += type.at("tensors").as_int();
    bytes += static_cast<uint64_t>(type.at("bytes").as_int());
    if (type.get_string("type") != "Q4_K") continue;
    blocks = true;
    EXPECT_EQ(type.get_string("form"), "uint4 in blocks of 32 with offsets");
    EXPECT_EQ(type.at("bytes").as_int() * 256, type.at("elements").as_int() * 144);
  }
  EXPECT_TRUE(blocks);
  EXPECT_EQ(tensors, std::ssize(content.tensors));
  uint64_t expected = 0;
  for (const GgufTensor& tensor : content.tensors) expected += tensor.data.size();
  EXPECT_EQ(bytes, expected);
  EXPECT_EQ(static_cast<uint64_t>(json.at("weights").at("bytes").as_int()), expected);
  const GgufMetadata metadata(content, "model.gguf");
  EXPECT_EQ(json.at("metadata").at("llama.block_count").as_int(),
            metadata.size("llama.block_count"));
  EXPECT_EQ(json.at("metadata").at("tokenizer.ggml.tokens").at("count").as_int(),
            std::ssize(metadata.texts("tokenizer.ggml.tokens")));
}

TEST(GgufSummary, ShowsWhatDoesNotRun) {
  const TempDir dir;
  const fs::path path = dir / "m.gguf";
  GgufFile text;
  text.text("general.architecture", "rwkv7").text("tokenizer.ggml.model", "rwkv");
  text.text("general.name", "a\nb").texts("tokenizer.ggml.tokens", {"a", "b"});
  text.text("long", std::string(500, 'x')).number("rwkv7.block_count", 12);
  text.matrix("token_embd.weight").write(path);
  const std::string shown = app::gguf_summary_text(path);
  for (const char* part :
       {"m.gguf: GGUF, 1 tensor, 32 B of weights\n",
        "'rwkv7' is not supported as a model (known: ", "tokenizer.ggml.model: 'rwkv' is not known",
        "F32  32 B  1 tensor  8 elements  values\n", "general.name           a b\n",
        "tokenizer.ggml.tokens  2 texts\n", "rwkv7.block_count      12\n", "xxx ...\n"}) {
    EXPECT_NE(shown.find(part), std::string::npos) << part << "\n" << shown;
  }
  const Json json = Json::parse(app::gguf_summary_json(path), "summary");
  EXPECT_FALSE(json.contains("model_type"));
  EXPECT_NE(json.get_string("refused").find("'rwkv7'"), std::string::npos);
  EXPECT_NE(json.get_string("tokenizer_refused").find("'rwkv'"), std::string::npos);
  write_file(path, "GGUF");
  EXPECT_ERROR(app::gguf_summary_text(path), ErrorCode::InvalidFile, "m.gguf");
}

TEST(GgufSummary, PackagesAreAskedFor) {
  const TempDir dir;
  write_file(dir / "config.json", "{}");
  GgufFile().text("general.architecture", "rwkv7").write(dir / "m.gguf");
  for (const fs::path& path : {dir.path(), dir / "m.gguf"}) {
    EXPECT_ERROR(app::resolve_model(path.string(), app::ModelPart::Package),
                 ErrorCode::InvalidArgument, "is a checkpoint, not a package");
    EXPECT_EQ(app::resolve_model(path.string(), app::ModelPart::Files), path.string());
  }
  // A folder of packages is not a GGUF folder, whatever files are next to them.
  fs::remove(dir / "m.gguf");
  fs::create_directory(dir / "m.mlpackage");
  write_file(dir / "m.mlpackage" / "Manifest.json", "{}");
  EXPECT_EQ(app::resolve_model(dir.path().string(), app::ModelPart::Package), dir.path().string());
}

TEST(GgufFolder, FindsTheFileThatIsMeant) {
  const TempDir dir;
  EXPECT_EQ(app::find_gguf(dir.path()), std::nullopt);
  write_file(dir / "a-00001-of-00002.gguf", "");
  write_file(dir / "a-00002-of-00002.gguf", "");
  EXPECT_EQ(app::find_gguf(dir.path()), dir / "a-00001-of-00002.gguf");
  write_file(dir / "b.gguf", "");
  EXPECT_EQ(app::find_gguf(dir / "b.gguf"), dir / "b.gguf");
  EXPECT_ERROR(app::find_gguf(dir.path()), ErrorCode::InvalidArgument, "several models");
  write_file(dir / "model.safetensors", "");
  EXPECT_EQ(app::find_gguf(dir.path()), std::nullopt);
  // The folder of a GGUF file remains a folder.
  PIPPIN_SHARED_OR_SKIP(file, "architectures2/gguf_q8_0/model.gguf");
  const fs::path folder = app::gguf_folder(file);
  EXPECT_EQ(app::gguf_folder(*app::find_gguf(folder)), folder);
}

// Every truncation of a real file is reported in one line.
TEST(GgufFolder, CutFiles) {
  PIPPIN_SHARED_OR_SKIP(file, "architectures2/gguf_qwen2/model.gguf");
  const std::string all = read_file(file, size_t{1} << 26);
  const TempDir dir;
  for (size_t size = 0; size < all.size(); size += all.size() / 37) {
    const fs::path path = dir / fmt::format("{}.gguf", size);
    write_file(path, all.substr(0, size));
    EXPECT_ERROR(app::gguf_folder(path), ErrorCode::InvalidFile, fmt::format("{}.gguf: ", size));
  }
}

}  // namespace
}  // namespace pippin
