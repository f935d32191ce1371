// Users' reports of checkpoints (data/reports/ckpt of the shared data), through the program: each
// folder gives the results of the library that its files are made for.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "pippin/base/files/file.h"
#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/io/checkpoint.h"
#include "pippin/io/json.h"
#include "pippin/io/npz.h"
#include "pippin/io/safetensors_writer.h"
#include "tests/process.h"

namespace pippin {
namespace {

namespace fs = std::filesystem;

std::string report(const std::string& name) {
  return "reports/ckpt/" + name;
}

std::vector<double> numbers_of(const std::string& out) {
  return Json::parse(out, "answer").as_floats();
}

// A writable copy.
class Copy {
 public:
  explicit Copy(const fs::path& model) {
    fs::copy(model, folder_ / "model", fs::copy_options::recursive);
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      fs::permissions(entry.path(), fs::perms::owner_all, fs::perm_options::add);
    }
  }
  fs::path operator/(const std::string& name) const { return folder_ / "model" / name; }
  std::string path() const { return (folder_ / "model").string(); }

 private:
  TempDir folder_;
};

std::vector<double> embed(const std::string& model, const std::string& text) {
  const auto result = run_pippin({"embed", model, text});
  EXPECT_EQ(result.status, 0) << result.err;
  return numbers_of(result.out);
}

// The lines of pippin rerank by document: "0.136022\t1\tw60".
std::vector<double> rerank(const std::string& model, const std::string& query,
                           const std::vector<std::string>& documents) {
  std::vector<std::string> command = {"rerank", model, query};
  command.insert(command.end(), documents.begin(), documents.end());
  const auto result = run_pippin(command);
  EXPECT_EQ(result.status, 0) << result.err;
  std::vector<double> scores(documents.size(), std::nan(""));
  for (size_t begin = 0; begin < result.out.size();) {
    const size_t end = result.out.find('\n', begin);
    const std::string line = result.out.substr(begin, end - begin);
    const size_t tab = line.find('\t');
    scores.at(std::stoul(line.substr(tab + 1))) = std::stod(line);
    begin = end + 1;
  }
  return scores;
}

class GoldenReport : public testing::TestWithParam<const char*> {};

TEST_P(GoldenReport, GivesTheLibrarysLogits) {
  PIPPIN_SHARED_OR_SKIP(folder, report(GetParam()));
  const NpzFile golden = NpzFile::open(folder / "model" / "golden.npz");
  const NpyArray input = golden.read("input_ids");
  const TempDir out;
  const auto result = run_pippin({"logits", (folder / "model").string(), "--ids",
                                  fmt::format("{}", fmt::join(input.as<int32_t>(), ",")), "-o",
                                  (out / "out.npz").string(), "--precision", "exact"});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto got = NpzFile::open(out / "out.npz").read("logits").to_doubles();
  const auto want = golden.read("logits").to_doubles();
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4) << i;
}

INSTANTIATE_TEST_SUITE_P(Reports, GoldenReport,
                         testing::Values("auto-round", "bin-before-pytorch-1-6",
                                         "gemma3-ropes-by-layer-type", "gptq-zero-biases",
                                         "mlx-experts-switch-mlp",
                                         "phi-partial-rotary-in-rope-parameters",
                                         "phimoe-rope-parameters-crash"));

TEST(Reports, UnknownRopeSettingIsNamed) {
  PIPPIN_SHARED_OR_SKIP(folder, report("unknown-key-inside-rope-parameters"));
  const auto result =
      run_pippin({"logits", (folder / "model").string(), "--ids", "1,2", "-o", "/x.npz"});
  EXPECT_EQ(result.status, 3);
  EXPECT_NE(result.err.find("rope_parameters.llama_4_scaling_beta"), std::string::npos);
}

TEST(Reports, InfinityInConfigurations) {
  PIPPIN_SHARED_OR_SKIP(folder, report("infinity-in-config-json"));
  const TempDir out;
  const std::string package = (out / "m.mlpackage").string(), model = (folder / "model").string();
  ASSERT_EQ(run_pippin({"convert", model, "-o", package}).status, 0);
  const auto first = run_pippin({"run", model, "w10 w11", "-n", "3", "--temp", "0"});
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(std::count(first.out.begin(), first.out.end(), 'w'), 3) << first.out;
  const auto second = run_pippin({"run", package, "w10 w11", "-n", "3", "--temp", "0"});
  EXPECT_EQ(second.out, first.out) << second.err;
}

TEST(Reports, GenerationConfigHolds) {
  PIPPIN_SHARED_OR_SKIP(stories, "models/stories260K");
  const Copy model(stories);
  const auto run = [&](const std::string& config, std::vector<std::string> more) {
    write_file(model / "generation_config.json", config);
    more.insert(more.begin(), {"run", model.path(), "--temp", "0", "--json"});
    more.push_back("Once upon a time");
    const auto result = run_pippin(more);
    EXPECT_EQ(result.status, 0) << result.err;
    return Json::parse(result.out, "answer");
  };
  const std::string plain = R"({"eos_token_id": [1, 2]})";
  const std::string text = run(plain, {"-n", "12"}).get_string("text");
  EXPECT_EQ(run(R"({"eos_token_id": [1, 2], "max_new_tokens": 3})", {}).get_string("text"),
            run(plain, {"-n", "3"}).get_string("text"));
  // Options of the caller override the file.
  EXPECT_EQ(
      run(R"({"eos_token_id": [1, 2], "max_new_tokens": 3})", {"-n", "12"}).get_string("text"),
      text);
  const std::string word = text.substr(text.find(' ', 4), 5);
  const std::string stopped =
      run(R"({"eos_token_id": [1, 2], "stop_strings": [")" + word + R"("]})", {"-n", "12"})
          .get_string("text");
  EXPECT_EQ(stopped, text.substr(0, text.find(word)));
  const auto tokens = [&](const std::string& more) {
    return run(R"({"eos_token_id": [1, 2])" + more + "}", {"-n", "12"}).get_string("text");
  };
  EXPECT_NE(tokens(R"(, "suppress_tokens": [383])"), text);
  EXPECT_NE(tokens(R"(, "repetition_penalty": 2.5)"), text);
  EXPECT_NE(tokens(R"(, "no_repeat_ngram_size": 1)"), text);
}

TEST(Reports, BertUnderItsFirstNames) {
  PIPPIN_SHARED_OR_SKIP(folder, report("bert-gamma-and-beta"));
  PIPPIN_SHARED_OR_SKIP(golden, "architectures2/bert_mean");
  const Copy renamed(folder / "model");
  for (const char* name : {"config.json", "model.safetensors"}) {
    fs::copy_file(golden / name, renamed / name, fs::copy_options::overwrite_existing);
  }
  const auto got = embed((folder / "model").string(), "w10 w20 w30");
  const auto want = embed(renamed.path(), "w10 w20 w30");
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6) << i;
}

TEST(Reports, DecoderThatSeesBothWays) {
  PIPPIN_SHARED_OR_SKIP(folder, report("is-causal-false"));
  const Copy model(folder / "model");
  const auto both = embed(model.path(), "w10 w20 w30");
  std::string config = read_file(model / "config.json", 1 << 20);
  const std::string flag = "\"is_causal\": false";
  config.replace(config.find(flag), flag.size(), "\"is_causal\": true");
  write_file(model / "config.json", config);
  EXPECT_NE(embed(model.path(), "w10 w20 w30"), both);
  EXPECT_EQ(run_pippin({"run", (folder / "model").string(), "w1"}).status, 3);
}

TEST(Reports, CrossEncodersOfSentenceTransformers) {
  PIPPIN_SHARED_OR_SKIP(modules, report("cross-encoder-of-sentence-transformers-5-4"));
  const auto scores =
      rerank((modules / "model").string(), "w10 w20 w30", {"w40 w50", "w60 w70 w80"});
  EXPECT_NEAR(scores[0], 0.132603, 1e-5);
  EXPECT_NEAR(scores[1], 0.136022, 1e-5);

  PIPPIN_SHARED_OR_SKIP(prompts, report("cross-encoder-prompt"));
  const Copy without(prompts / "model");
  fs::remove(without / "config_sentence_transformers.json");
  EXPECT_NEAR(rerank((prompts / "model").string(), "w10 w20 w30", {"w40 w50"})[0],
              rerank(without.path(), "w90 w91 w10 w20 w30", {"w40 w50"})[0], 1e-6);
}

TEST(Reports, CrossEncoderOfModules) {
  PIPPIN_SHARED_OR_SKIP(folder, report("modular-cross-encoder"));
  const std::vector<std::string> documents = {"w40 w50", "w60 w70 w80", "w90"};
  const auto scores = rerank((folder / "model").string(), "w10 w20 w30", documents);
  EXPECT_NE(scores[0], scores[1]);
  EXPECT_NE(scores[1], scores[2]);
  // The result of the same modules for the pair's tokens as one text, without the second text's
  // types.
  const Copy model(folder / "model");
  write_file(model / "config_sentence_transformers.json",
             R"({"model_type": "SentenceTransformer"})");
  const std::string path = (model / "4_Dense/config.json").string();
  std::string dense = read_file(path, 1 << 20);
  const std::string output = "\"module_output_name\": \"scores\"";
  dense.replace(dense.find(output), output.size(),
                "\"module_output_name\": \"sentence_embedding\"");
  write_file(path, dense);
  const auto as_text = embed(model.path(), "w10 w20 w30");
  ASSERT_EQ(as_text.size(), 1u);
  EXPECT_TRUE(std::isfinite(as_text[0]));
}

TEST(Reports, LogitScoreOfALanguageModel) {
  PIPPIN_SHARED_OR_SKIP(folder, report("logit-score-reranker"));
  const std::string model = (folder / "model").string();
  const TempDir out;
  const auto logits = [&](const std::string& ids) {
    const std::string file = (out / "out.npz").string();
    EXPECT_EQ(
        run_pippin({"logits", model, "--ids", ids, "-o", file, "--precision", "exact"}).status, 0);
    auto all = NpzFile::open(file).read("logits").to_doubles();
    const auto count = static_cast<size_t>(std::count(ids.begin(), ids.end(), ',') + 1);
    const size_t width = all.size() / count;
    return std::vector<double>(all.end() - static_cast<std::ptrdiff_t>(width), all.end());
  };
  const auto tokens = [&](const std::string& query, const std::string& document) {
    // As in the tokenizer's template for two texts: one after the other.
    std::string ids;
    for (const std::string& part : {query, document}) {
      for (const char c : part) ids += c == 'w' ? ' ' : c;
    }
    std::string joined;
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] != ' ')
        joined += ids[i];
      else if (!joined.empty() && joined.back() != ',')
        joined += ',';
    }
    return joined;
  };
  const auto scores = rerank(model, "w10 w20 w30", {"w40 w50", "w60 w70 w80"});
  const auto first = logits(tokens("w10 w20 w30", " w40 w50"));
  EXPECT_NEAR(scores[0], first[90] - first[91], 1e-4);
  const auto second = logits(tokens("w10 w20 w30", " w60 w70 w80"));
  EXPECT_NEAR(scores[1], second[90] - second[91], 1e-4);

  // With a template, the pair is two messages of it.
  const Copy chat(folder / "model");
  write_file(
      chat / "chat_template.jinja",
      "w11 {{ messages | selectattr('role', 'eq', 'query') | map(attribute='content') | first }} "
      "w12 {{ messages | selectattr('role', 'eq', 'document') | map(attribute='content') | first }}"
      " w13");
  const auto rendered = logits("11,10,20,30,12,40,50,13");
  EXPECT_NEAR(rerank(chat.path(), "w10 w20 w30", {"w40 w50"})[0], rendered[90] - rendered[91],
              1e-4);
  // The prompt is a system message.
  write_file(
      chat / "config_sentence_transformers.json",
      R"({"model_type": "CrossEncoder", "prompts": {"web": "w7"}, "default_prompt_name": "web",
                 "activation_fn": "torch.nn.modules.linear.Identity"})");
  write_file(chat / "chat_template.jinja", "{% for m in messages %}{{ m.content }} {% endfor %}");
  const auto prompted = logits("7,10,20,30,40,50");
  EXPECT_NEAR(rerank(chat.path(), "w10 w20 w30", {"w40 w50"})[0], prompted[90] - prompted[91],
              1e-4);
  // A text that is too long is cut, except for the parts that the template adds.
  write_file(chat / "chat_template.jinja",
             "{% for m in messages %}{{ m.content }} {% endfor %}w13 w14");
  write_file(chat / "tokenizer_config.json", R"({"model_max_length": 6})");
  const auto cut = logits("7,10,20,30,13,14");
  EXPECT_NEAR(rerank(chat.path(), "w10 w20 w30", {"w40 w50 w60"})[0], cut[90] - cut[91], 1e-4);
  write_file(chat / "chat_template.jinja", "nothing");
  const auto none = run_pippin({"rerank", chat.path(), "w10", "w20"});
  EXPECT_NE(none.err.find("the chat template has no place for the"), std::string::npos) << none.err;
  // Without modules.json it is a language model, and the cosine of its states is meaningless.
  fs::remove(chat / "modules.json");
  const auto cosine = run_pippin({"rerank", chat.path(), "w10", "w20"});
  EXPECT_EQ(cosine.status, 3);
  EXPECT_NE(cosine.err.find("is a language model"), std::string::npos) << cosine.err;
}

TEST(Reports, DenseWithAResidual) {
  PIPPIN_SHARED_OR_SKIP(folder, report("dense-use-residual"));
  const Copy plain(folder / "model");
  write_file(
      plain / "modules.json",
      R"([{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
                 {"idx": 1, "name": "1", "path": "1_Pooling",
                  "type": "sentence_transformers.models.Pooling"}])");
  const auto got = embed((folder / "model").string(), "w10 w20 w30");
  const auto want = embed(plain.path(), "w10 w20 w30");
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6) << i;
}

TEST(Reports, PoolingsInTheirOrder) {
  PIPPIN_SHARED_OR_SKIP(folder, report("pooling-order"));
  const Copy model(folder / "model");
  const auto both = embed(model.path(), "w10 w20 w30");
  const auto only = [&](const std::string& config) {
    write_file(model / "1_Pooling/config.json", config);
    return embed(model.path(), "w10 w20 w30");
  };
  const auto mean = only(R"({"embedding_dimension": 32, "pooling_mode": "mean"})");
  const auto cls = only(R"({"embedding_dimension": 32, "pooling_mode": "cls"})");
  EXPECT_EQ(std::vector<double>(both.begin(), both.begin() + 32), mean);
  EXPECT_EQ(std::vector<double>(both.begin() + 32, both.end()), cls);
  // The mean without keys; older keys are ignored if the newer one is present.
  EXPECT_EQ(only(R"({"word_embedding_dimension": 32})"), mean);
  EXPECT_EQ(only(R"({"pooling_mode": "cls", "pooling_mode_mean_tokens": true})"), cls);
  // truncate_dim cuts.
  write_file(model / "config_sentence_transformers.json", R"({"truncate_dim": 8})");
  EXPECT_EQ(embed(model.path(), "w10 w20 w30"), std::vector<double>(cls.begin(), cls.begin() + 8));
}

TEST(Reports, LimitOfTheTokenizer) {
  PIPPIN_SHARED_OR_SKIP(folder, report("model-max-length"));
  std::string text, first;
  for (int i = 10; i < 50; ++i) text += fmt::format("w{} ", i);
  const auto long_text = run_pippin({"embed", (folder / "model").string(), text});
  EXPECT_NE(long_text.err.find("had more than 16 tokens and were cut"), std::string::npos)
      << long_text.err;
  const Copy cut(folder / "model");
  write_file(cut / "sentence_bert_config.json", R"({"max_seq_length": 16})");
  EXPECT_EQ(numbers_of(long_text.out), embed(cut.path(), text));
}

TEST(Reports, StaticEmbeddings) {
  PIPPIN_SHARED_OR_SKIP(folder, report("static-embedding"));
  const fs::path inner = folder / "model" / "0_StaticEmbedding";
  const Checkpoint checkpoint = Checkpoint::open(inner);
  const TensorInfo& table = checkpoint.at("embedding.weight");
  const auto width = static_cast<size_t>(table.shape[1]);
  const auto row = [&](size_t i) {
    std::vector<float> values(width);
    std::memcpy(values.data(), table.bytes.data() + i * width * sizeof(float),
                width * sizeof(float));
    return values;
  };
  const auto expect_mean = [&](const std::vector<double>& got) {
    ASSERT_EQ(got.size(), width);
    for (size_t i = 0; i < width; ++i) EXPECT_NEAR(got[i], (row(10)[i] + row(20)[i]) / 2, 1e-6);
  };
  expect_mean(embed((folder / "model").string(), "w10 w20"));
  const TempDir out;
  const std::string package = (out / "m.mlpackage").string();
  const auto converted = run_pippin({"convert", (folder / "model").string(), "-o", package});
  ASSERT_EQ(converted.status, 0) << converted.err;
  const auto of_package = embed(package, "w10 w20");
  for (size_t i = 0; i < width; ++i) {
    EXPECT_NEAR(of_package[i], (row(10)[i] + row(20)[i]) / 2, 2e-3) << i;
  }
  // model2vec's own folder: another name for the table, files at its root.
  const TempDir model2vec;
  fs::copy_file(inner / "tokenizer.json", model2vec / "tokenizer.json");
  std::vector<SafetensorsWriter::Declaration> declarations = {
      {"embeddings", table.dtype, table.shape}};
  SafetensorsWriter writer(model2vec / "model.safetensors", declarations);
  writer.append(table.bytes);
  writer.finish();
  write_file(
      model2vec / "config.json",
      R"({"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": false})");
  expect_mean(embed(model2vec.path().string(), "w10 w20"));
  expect_mean(embed(model2vec.path().string(), "w10 unknown w20"));
}

TEST(Reports, EndsBesideTokenizerJson) {
  PIPPIN_SHARED_OR_SKIP(folder, report("add-eos-token-beside-tokenizer-json"));
  EXPECT_EQ(run_pippin({"tokenize", (folder / "model").string(), "Hello world"}).out, "1 3 4 2\n");
}

TEST(Reports, GgufOfTekken) {
  PIPPIN_SHARED_OR_SKIP(folder, report("gguf-tekken"));
  const auto result = run_pippin({"tokenize", (folder / "model.gguf").string(), "Hello world 123"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_FALSE(result.out.empty());
}

TEST(Reports, NormsBeyondHalfPrecision) {
  PIPPIN_SHARED_OR_SKIP(folder, report("norm-weights-beyond-fp16"));
  const TempDir out;
  const auto result =
      run_pippin({"convert", (folder / "model").string(), "-o", (out / "m.mlpackage").string()});
  EXPECT_NE(result.err.find("norm"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("beyond fp16 (65504) and become infinite"), std::string::npos)
      << result.err;
}

TEST(Reports, AdapterOfMlxLm) {
  PIPPIN_SHARED_OR_SKIP(folder, report("mlx-lm-adapter"));
  PIPPIN_SHARED_OR_SKIP(base, "architectures/llama_mha");
  const TempDir out;
  const std::string package = (out / "m.mlpackage").string();
  const auto converted = run_pippin(
      {"convert", base.string(), "-o", package, "--fuse-adapter", (folder / "model").string()});
  ASSERT_EQ(converted.status, 0) << converted.err;
  const auto logits = [&](const std::string& model, std::vector<std::string> more) {
    const std::string file = (out / "out.npz").string();
    more.insert(more.begin(), {"logits", model, "--ids", "1,2,3,4", "-o", file});
    const auto result = run_pippin(more);
    EXPECT_EQ(result.status, 0) << result.err;
    return NpzFile::open(file).read("logits").to_doubles();
  };
  // In a folder, too.
  const auto fused = logits(package, {});
  const auto adapted = logits(base.string(), {"--adapter", (folder / "model").string()});
  const auto plain = logits(base.string(), {});
  double difference = 0, change = 0;
  for (size_t i = 0; i < fused.size(); ++i) {
    difference = std::max(difference, std::abs(fused[i] - adapted[i]));
    change = std::max(change, std::abs(plain[i] - adapted[i]));
  }
  EXPECT_LT(difference, 0.05);
  EXPECT_GT(change, 10 * difference);
  const auto missing =
      run_pippin({"logits", base.string(), "--ids", "1", "-o", "/x.npz", "--adapter", "no"});
  EXPECT_NE(missing.err.find("no adapter_config.json"), std::string::npos) << missing.err;
}

}  // namespace
}  // namespace pippin
