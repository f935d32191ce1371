// A server of a language model, an embedding model and a cross-encoder.
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/io/npz.h"
#include "pippin/server/server_testing.h"
#include "tests/word_tokenizer.h"

namespace pippin::server {
namespace {

namespace fs = std::filesystem;

// Golden models with a tokenizer whose words are ids, served as "embedder" and "scorer".
class ServedEncoders {
 public:
  ServedEncoders(const fs::path& embedder, const fs::path& scorer)
      : golden_(NpzFile::open(embedder / "golden.npz")) {
    Options options = demo_options();
    for (const auto& [name, path] :
         {std::pair("embedder", embedder), std::pair("scorer", scorer)}) {
      fs::copy(path, folder_ / name, fs::copy_options::recursive);
      testing_models::write_word_tokenizer(folder_ / name, 160);
      options.models.models.push_back({name, (folder_ / name).string()});
    }
    server_ = std::make_unique<DemoServer>(std::move(options));
  }

  http::Answer post(const std::string& target, const std::string& fields) const {
    return server_->post(target, "{" + fields + "}");
  }
  std::vector<int32_t> ids(size_t row) const {
    const auto ids = golden_.read("input_ids"), mask = golden_.read("attention_mask");
    const auto length = static_cast<size_t>(ids.shape.at(1));
    std::vector<int32_t> chosen;
    for (size_t i = row * length; i < (row + 1) * length; ++i) {
      if (mask.as<int32_t>()[i] != 0) chosen.push_back(ids.as<int32_t>()[i]);
    }
    return chosen;
  }
  std::vector<double> embedding(size_t row) const {
    const auto all = golden_.read("sentence_embedding").to_doubles();
    const size_t width = all.size() / 3;
    return {all.begin() + static_cast<std::ptrdiff_t>(row * width),
            all.begin() + static_cast<std::ptrdiff_t>((row + 1) * width)};
  }

 private:
  TempDir folder_;
  NpzFile golden_;
  std::unique_ptr<DemoServer> server_;
};

void expect_near(const std::vector<double>& a, const std::vector<double>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-5) << i;
}

TEST(ServeEncoders, EmbedsAndReranks) {
  PIPPIN_SHARED_OR_SKIP(data, "architectures2");
  const ServedEncoders served(data / "bert_mean", data / "bert_cross");
  const std::string texts = "\"" + testing_models::words_of(served.ids(0)) + "\",\"" +
                            testing_models::words_of(served.ids(1)) + "\"";
  const Json json =
      json_of(served.post("/v1/embeddings", R"("model":"embedder","input":[)" + texts + "]"));
  EXPECT_EQ(json.get_string("model"), "embedder");
  expect_near(json.at("data").at(size_t{0}).at("embedding").as_floats(), served.embedding(0));
  expect_near(json.at("data").at(size_t{1}).at("embedding").as_floats(), served.embedding(1));
  EXPECT_EQ(json.at("usage").get_int("prompt_tokens"),
            std::ssize(served.ids(0)) + std::ssize(served.ids(1)));

  JsonWriter lists;
  lists.begin_array().value(served.ids(1)).value(served.ids(0)).end_array();
  const Json of_ids =
      json_of(served.post("/v1/embeddings", R"("model":"embedder","input":)" + lists.text()));
  expect_near(of_ids.at("data").at(size_t{0}).at("embedding").as_floats(), served.embedding(1));

  // 32 floats in base64.
  const Json packed = json_of(
      served.post("/v1/embeddings",
                  R"("model":"embedder","encoding_format":"base64","input":[)" + texts + "]"));
  EXPECT_EQ(packed.at("data").at(size_t{0}).get_string("embedding").size(), 172u);
  const Json shorter = json_of(
      served.post("/v1/embeddings", R"("model":"embedder","dimensions":8,"input":"w1 w2")"));
  EXPECT_EQ(shorter.at("data").at(size_t{0}).at("embedding").size(), 8u);

  const Json ranked = json_of(served.post(
      "/v1/rerank", R"("model":"scorer","query":"w5 w6","top_n":2,"return_documents":true,)"
                    R"("documents":["w7 w8",{"text":"w9"},"w10 w11 w12"])"));
  const auto results = ranked.at("results").elements();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_GE(results[0].get_float("relevance_score"), results[1].get_float("relevance_score"));
  EXPECT_TRUE(results[0].at("document").get_string("text").starts_with("w"));
  // Cosines of an embedding model.
  const Json cosines = json_of(served.post(
      "/v1/rerank", R"("model":"embedder","query":"w5 w6","documents":["w7","w5 w6"])"));
  EXPECT_EQ(cosines.at("results").elements()[0].get_int("index"), 1);
  EXPECT_NEAR(cosines.at("results").elements()[0].get_float("relevance_score"), 1, 1e-5);
}

TEST(ServeEncoders, RefusesByName) {
  PIPPIN_SHARED_OR_SKIP(data, "architectures2");
  const ServedEncoders served(data / "bert_mean", data / "bert_cross");
  const auto embed = [&](const std::string& fields) {
    return error_of(served.post("/v1/embeddings", fields));
  };
  EXPECT_EQ(embed(R"("model":"embedder","input":"w1","dimensions":33)"),
            "400 dimensions: dimensions: the model's embeddings have 32");
  EXPECT_EQ(embed(R"("model":"embedder","input":[[1,160]])"),
            "400 input: text 0: token id 160, the model has 160");
  EXPECT_EQ(embed(R"("model":"embedder","input":[])"),
            "400 input: input: expected a text, tokens, or a list of them");
  EXPECT_TRUE(embed(R"("model":"scorer","input":"w1")").find("is a cross-encoder") !=
              std::string::npos);
  EXPECT_EQ(error_of(served.post("/v1/rerank", R"("model":"scorer","query":"w1","documents":[])")),
            "400 documents: documents: expected a list of texts");
  EXPECT_EQ(error_of(served.post("/v1/rerank", R"("query":"w1","documents":["w2"])")),
            "400 model: the model \"demo\" writes texts and scores none");
  EXPECT_EQ(error_of(served.post("/v1/completions", R"("model":"embedder","prompt":"a")")),
            "400 model: the model \"embedder\" embeds or scores texts and writes none");
}

}  // namespace
}  // namespace pippin::server
