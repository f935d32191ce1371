// A server with a language model, an embedding model and a cross-encoder.
#include <cstring>
#include <filesystem>

#include <gtest/gtest.h>

#include "pippin/base/base64.h"
#include "pippin/base/byte_span.h"
#include "pippin/base/files/file.h"
#include "pippin/base/testing.h"
#include "pippin/image/picture.h"
#include "pippin/server/server_testing.h"
#include "tests/golden_texts.h"
#include "tests/image_encoder_folders.h"
#include "tests/score_model.h"
#include "tests/vector_models.h"

namespace pippin::server {
namespace {

namespace fs = std::filesystem;

// Golden models with a tokenizer whose words are ids, served as "embedder" and "scorer".
class ServedEncoders : public testing_models::GoldenTexts {
 public:
  ServedEncoders(const fs::path& embedder, const fs::path& scorer) : GoldenTexts(embedder) {
    Options options = demo_options();
    for (const auto& [name, path] :
         {std::pair("embedder", embedder), std::pair("scorer", scorer)}) {
      testing_models::copy_golden(path, folder_ / name);
      options.models.models.push_back({name, (folder_ / name).string()});
    }
    server_ = std::make_unique<DemoServer>(std::move(options));
  }

  http::Answer post(const std::string& target, const std::string& fields) const {
    return server_->post(target, "{" + fields + "}");
  }

 private:
  TempDir folder_;
  std::unique_ptr<DemoServer> server_;
};

void expect_embedding(const Json& json, size_t index, const ServedEncoders& served, size_t row) {
  testing_models::expect_near(json.at("data").at(index).at("embedding").as_floats(),
                              served.numbers("sentence_embedding", row), 1e-5);
}

TEST(ServeEncoders, EmbedsAndReranks) {
  PIPPIN_SHARED_OR_SKIP(embedder, "architectures2/bert_mean");
  PIPPIN_SHARED_OR_SKIP(scorer, "architectures2/bert_cross");
  const ServedEncoders served(embedder, scorer);
  const std::string texts = "\"" + served.text(0) + "\",\"" + served.text(1) + "\"";
  const Json json =
      json_of(served.post("/v1/embeddings", R"("model":"embedder","input":[)" + texts + "]"));
  EXPECT_EQ(json.get_string("model"), "embedder");
  expect_embedding(json, 0, served, 0);
  expect_embedding(json, 1, served, 1);
  EXPECT_EQ(json.at("usage").get_int("prompt_tokens"),
            std::ssize(served.ids(0)) + std::ssize(served.ids(1)));

  JsonWriter lists;
  lists.begin_array().value(served.ids(1)).value(served.ids(0)).end_array();
  const Json of_ids =
      json_of(served.post("/v1/embeddings", R"("model":"embedder","input":)" + lists.text()));
  expect_embedding(of_ids, 0, served, 1);

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
  PIPPIN_SHARED_OR_SKIP(embedder, "architectures2/bert_mean");
  PIPPIN_SHARED_OR_SKIP(scorer, "architectures2/bert_cross");
  const ServedEncoders served(embedder, scorer);
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

// The demo server with another model, "model".
std::unique_ptr<DemoServer> serve(const std::string& path) {
  Options options = demo_options();
  options.models.models.push_back({"model", path});
  return std::make_unique<DemoServer>(std::move(options));
}

std::string data_url(const std::string& file) {
  return "data:image/png;base64," + encode_base64(as_byte_span(file));
}

// Texts and images of a model with random weights, in Jina's and vLLM's forms.
TEST(ServeEncoders, ImagesAmongTexts) {
  const TempDir folder;
  testing_models::write_random_clip(folder.path());
  Picture picture{8, 8, 3, {}};
  for (int i = 0; i < 8 * 8 * 3; ++i) picture.pixels.push_back(static_cast<uint8_t>(i * 37 % 251));
  write_picture(folder / "a.png", picture);
  const std::string file = read_file(folder / "a.png"), url = data_url(file);
  const auto server = serve(folder.path().string());
  const auto post = [&](const std::string& fields) {
    return server->post("/v1/embeddings", R"({"model":"model",)" + fields + "}");
  };
  const auto vector = [](const Json& json, size_t i) {
    return json.at("data").at(i).at("embedding").as_floats();
  };
  const Json all =
      json_of(post(R"("input":["w3 w19",{"image":")" + url + R"("},{"text":"w4 w19"},{"image":")" +
                   encode_base64(as_byte_span(file)) + R"("}])"));
  ASSERT_EQ(all.at("data").size(), 4U);
  EXPECT_EQ(vector(all, 1), vector(all, 3));
  const Json texts = json_of(post(R"("input":["w3 w19","w4 w19"])"));
  testing_models::expect_near(vector(all, 0), vector(texts, 0), 1e-6);
  EXPECT_EQ(all.at("usage").get_int("prompt_tokens"), 4);
  const std::string part = R"({"type":"image_url","image_url":{"url":")" + url + R"("}})";
  const Json message = json_of(post(R"("messages":[{"role":"user","content":[)" + part + "]}]"));
  EXPECT_EQ(vector(message, 0), vector(all, 1));
  EXPECT_EQ(vector(json_of(post(R"("input":{"image":")" + url + R"("},"dimensions":3)")), 0).size(),
            3U);

  EXPECT_TRUE(
      error_of(post(R"("messages":[{"role":"user","content":[)" + part + "," + part + "]}]"))
          .starts_with("400 messages: messages: expected one message with one text"));
  EXPECT_EQ(error_of(post(R"("input":[{"image":"https://h/a.png"}])")),
            "400 input[0].image: input[0].image: images at URLs are not fetched (pippin serve "
            "--allow-remote-images); send a data URL");
  EXPECT_TRUE(error_of(post(R"("input":[{"image":"eA=="}])")).starts_with("400 input[0].image"));
  EXPECT_EQ(error_of(post(R"("input":[{"video":"x"}])")),
            "400 input[0]: input[0]: expected a text, or an object with either `text` or `image`");
}

TEST(ServeEncoders, ImagesAlone) {
  const TempDir folder;
  testing_models::write_random_vit(folder.path(), false);
  const auto server = serve(folder.path().string());
  EXPECT_EQ(error_of(server->post("/v1/embeddings", R"({"model":"model","input":"w1"})")),
            "400 input: the model \"model\" takes images, not texts");
  EXPECT_EQ(error_of(server->post("/v1/completions", R"({"model":"model","prompt":"a"})")),
            "400 model: the model \"model\" takes images and writes no texts");
}

TEST(ServeEncoders, SparseVectors) {
  PIPPIN_SHARED_OR_SKIP(golden, "models2026/enc/bert_mlm");
  const testing_models::Splade splade(golden);
  const auto server = serve(splade.model.path());
  const std::string start = R"({"model":"model","input":")" + splade.model.text(2) + "\"";
  const Json json = json_of(server->post("/v1/embeddings", start + "}"));
  testing_models::expect_near(
      testing_models::dense_of(json.at("data").at(size_t{0}).at("embedding")),
      splade.expected(2, false, false), 2e-5);
  EXPECT_EQ(json.at("usage").get_int("prompt_tokens"), std::ssize(splade.model.ids(2)));
  EXPECT_EQ(error_of(server->post("/v1/embeddings", start + R"(,"dimensions":3})")),
            "400 dimensions: dimensions: only for dense embeddings");
  EXPECT_EQ(error_of(server->post("/v1/embeddings", start + R"(,"encoding_format":"base64"})")),
            "400 encoding_format: encoding_format: base64 is only for dense embeddings");
  EXPECT_EQ(error_of(server->post("/v1/embeddings", R"({"model":"model","input":[[5,6]]})")),
            "400 input: input: tokens are only for dense embeddings");
}

TEST(ServeEncoders, VectorsOfTokensByTypeOfInput) {
  PIPPIN_SHARED_OR_SKIP(golden, "models2026/enc/data2vec_text");
  const testing_models::Late late(golden);
  const auto server = serve(late.model.path());
  const auto embed = [&](const std::string& fields) {
    return json_of(server->post("/v1/embeddings", R"({"model":"model",)" + fields + "}"))
        .at("data")
        .at(size_t{0})
        .at("embedding");
  };
  const auto expected = late.expected(2);
  const std::string text = R"("input":")" + late.model.text(2) + "\"";
  for (const std::string type : {"", R"(,"input_type":"document")"}) {
    const Json document = embed(text + type);
    ASSERT_EQ(document.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      testing_models::expect_near(document.at(i).as_floats(), expected[i], 2e-5);
    }
  }
  EXPECT_EQ(embed(R"("input":"w5 w6","input_type":"query")").size(), 6u);
  EXPECT_EQ(error_of(server->post("/v1/embeddings",
                                  R"({"model":"model","input":"w5","input_type":"passage"})")),
            "400 input_type: input_type: neither query nor document");
}

TEST(ServeEncoders, RerankersWithTemplates) {
  PIPPIN_SHARED_OR_SKIP(golden, "architectures/qwen3");
  const testing_models::ScoreModel model(golden);
  const auto server = serve(model.path());
  const Json ranked = json_of(
      server->post("/v1/rerank", R"({"model":"model","query":")" + model.query() +
                                     R"(","documents":["w9 w8",")" + model.document() + R"("]})"));
  for (const Json& one : ranked.at("results").elements()) {
    if (one.get_int("index") != 1) continue;
    EXPECT_NEAR(one.get_float("relevance_score"), model.expected(), 1e-3);
  }
  EXPECT_EQ(ranked.at("results").size(), 2u);
}

// The prompts of an embedding model, and a table of static embeddings.
TEST(ServeEncoders, DenseVectorsByTypeOfInput) {
  const TempDir folder;
  const auto table = testing_models::write_static_embedding(folder.path(), 12, 4);
  write_file(folder / "config_sentence_transformers.json",
             R"({"prompts": {"query": "w1 ", "document": ""}})");
  const auto server = serve(folder.path().string());
  const auto embed = [&](const std::string& type) {
    const Json json = json_of(
        server->post("/v1/embeddings", R"({"model":"model","input":"w3 w10")" + type + "}"));
    return json.at("data").at(size_t{0}).at("embedding").as_floats();
  };
  const auto mean = [&](const std::vector<size_t>& words) {
    std::vector<double> sums(4);
    for (const size_t word : words) {
      for (size_t i = 0; i < 4; ++i) {
        sums[i] += table[word * 4 + i] / static_cast<double>(words.size());
      }
    }
    return sums;
  };
  testing_models::expect_near(embed(""), mean({3, 10}), 1e-5);
  testing_models::expect_near(embed(R"(,"input_type":"document")"), mean({3, 10}), 1e-5);
  testing_models::expect_near(embed(R"(,"input_type":"query")"), mean({1, 3, 10}), 1e-5);
}

}  // namespace
}  // namespace pippin::server
