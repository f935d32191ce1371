// The endpoints of files and batches, with the demo model.
#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "pippin/base/testing.h"
#include "pippin/server/kept_testing.h"
#include "pippin/server/server_testing.h"

namespace pippin::server {
namespace {

using http::Answer;

class BatchEndpoints : public testing::Test {
 protected:
  void SetUp() override { start(); }

  void start(FilesOptions files = {}) {
    server_.reset();
    Options options = demo_options();
    files.folder = folder_ / "kept";
    options.files = files;
    options.http.max_body_bytes = 2000;
    server_ = std::make_unique<DemoServer>(std::move(options));
  }
  Answer upload(const TestForm& form) const {
    return server_->ask("POST", "/v1/files", form.body, form.headers);
  }
  Answer get(const std::string& path) const { return server_->ask("GET", path); }
  std::string upload_id(const std::string& content) const {
    return json_of(upload(form_of(content))).get_string("id");
  }
  Answer create(const std::string& file, const std::string& more = "") const {
    return server_->post("/v1/batches",
                         fmt::format(R"({{"input_file_id":"{}","endpoint":"/v1/completions",)"
                                     R"("completion_window":"24h"{}}})",
                                     file, more));
  }
  Json wait_for_end(const std::string& id) const {
    for (;;) {
      Json batch = json_of(get("/v1/batches/" + id));
      const std::string status = batch.get_string("status");
      if (status != "validating" && status != "in_progress" && status != "finalizing" &&
          status != "cancelling") {
        return batch;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }

  TempDir folder_;
  std::unique_ptr<DemoServer> server_;
};

TEST_F(BatchEndpoints, FilesComeBackAsTheyWere) {
  const std::string content = "{\r\n--x\n" + std::string(5000, '\0');  // above max_body_bytes
  const Json file = json_of(upload(form_of(content)));
  EXPECT_EQ(file.get_string("object"), "file");
  EXPECT_EQ(file.get_string("filename"), "in.jsonl");
  EXPECT_EQ(file.get_string("purpose"), "batch");
  EXPECT_EQ(file.get_string("status"), "processed");
  EXPECT_EQ(file.get_int("bytes"), std::ssize(content));
  EXPECT_FALSE(file.contains("expires_at"));
  const std::string path = "/v1/files/" + file.get_string("id");
  EXPECT_EQ(json_of(get(path)).dump(), file.dump());
  const Answer answer = get(path + "/content");
  EXPECT_EQ(answer.body, content);
  EXPECT_EQ(http::find_field(answer.headers, "content-type"), "application/octet-stream");
  EXPECT_EQ(http::find_field(answer.headers, "content-disposition"),
            "attachment; filename=\"in.jsonl\"");
  EXPECT_EQ(json_of(server_->ask("DELETE", path)).get_bool("deleted"), true);
  for (const char* end : {"", "/content"}) EXPECT_EQ(get(path + end).status, 404);
  EXPECT_EQ(server_->ask("DELETE", path).status, 404);
}

TEST_F(BatchEndpoints, FilesAreListedPageByPage) {
  std::vector<std::string> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(upload_id(std::to_string(i)));
  upload(form_of("x", {{"purpose", "user_data"}}));
  const auto page = [&](const std::string& query) {
    const Json list = json_of(get("/v1/files?purpose=batch" + query));
    std::string text;
    for (const Json& file : list.at("data").elements()) {
      const auto at = std::find(ids.begin(), ids.end(), file.get_string("id"));
      text += std::to_string(at - ids.begin());
    }
    return text + (list.get_bool("has_more") ? "+" : "");
  };
  EXPECT_EQ(page(""), "210");
  EXPECT_EQ(page("&order=asc&limit=2"), "01+");
  EXPECT_EQ(page("&limit=1&after=" + ids[2]), "1+");
  EXPECT_EQ(page("&after=" + ids[0]), "");
  EXPECT_EQ(json_of(get("/v1/files")).at("data").size(), 4u);
  EXPECT_EQ(error_of(get("/v1/files?limit=0")), "400 limit: limit: expected 1 to 10000");
  EXPECT_EQ(error_of(get("/v1/files?after=x")),
            "400 after: after: is the id of no object of this list");
  EXPECT_EQ(error_of(get("/v1/batches?limit=101")), "400 limit: limit: expected 1 to 100");
}

TEST_F(BatchEndpoints, WrongUploadsNameTheField) {
  const auto refusal = [&](const std::vector<std::pair<std::string, std::string>>& texts) {
    return error_of(upload(form_of("x", texts)));
  };
  EXPECT_EQ(refusal({}), "400 purpose: purpose: is missing");
  EXPECT_EQ(refusal({{"purpose", "fun"}}),
            "400 purpose: purpose: \"fun\" is not one of assistants, batch, fine-tune, vision, "
            "user_data, evals");
  EXPECT_EQ(refusal({{"purpose", "batch"}, {"expires_after[anchor]", "created_at"}}),
            "400 expires_after[seconds]: expires_after[seconds]: expected a number");
  EXPECT_EQ(refusal({{"purpose", "batch"},
                     {"expires_after[anchor]", "created_at"},
                     {"expires_after[seconds]", "60"}}),
            "400 expires_after.seconds: expires_after.seconds: 60 is not from 3600 to 2592000");
  EXPECT_EQ(server_->post("/v1/files", "{}").status, 415);
  const Json file = json_of(upload(form_of("x", {{"purpose", "batch"},
                                                 {"expires_after[anchor]", "created_at"},
                                                 {"expires_after[seconds]", "3600"}})));
  EXPECT_EQ(file.get_int("expires_at"), file.get_int("created_at") + 3600);
}

TEST_F(BatchEndpoints, UploadsHaveLimits) {
  start({.max_file = 10'000, .max_total = 15'000});
  EXPECT_EQ(error_of(upload(form_of(std::string(10'001, 'x')))),
            "413 file: file: has 10.0 KB, at most 10.0 KB (--max-file)");
  EXPECT_EQ(upload(form_of(std::string(100'000, 'x'))).status, 413);
  EXPECT_EQ(upload(form_of(std::string(10'000, 'x'))).status, 200);
  const Answer full = upload(form_of(std::string(10'000, 'x')));
  EXPECT_EQ(full.status, 507);
  EXPECT_EQ(http::find_field(full.headers, "x-should-retry"), "false");
  // Others keep their own.
  EXPECT_EQ(server_->post("/v1/completions", std::string(3000, ' ')).status, 413);
}

TEST_F(BatchEndpoints, WithoutAFolderThereAreNone) {
  const DemoServer plain;
  EXPECT_EQ(error_of(plain.ask("GET", "/v1/files")),
            "501 -: this server keeps no files: start it with --files DIR");
  EXPECT_EQ(plain.post("/v1/batches", "{}").status, 501);
}

TEST_F(BatchEndpoints, ABatchHasTheAnswersOfItsRequests) {
  const std::string more = R"("max_tokens":8,"seed":3)";
  const std::string file = upload_id(completion_line("One", more) + completion_line("Two", more) +
                                     completion_line("bad", R"("max_tokens":-5)"));
  const Json created = json_of(create(file, R"(,"metadata":{"user":"me"})"));
  EXPECT_EQ(created.get_string("object"), "batch");
  EXPECT_EQ(created.get_string("status"), "validating");
  EXPECT_EQ(created.get_int("expires_at"), created.get_int("created_at") + 86'400);
  const std::string id = created.get_string("id");
  const Json batch = wait_for_end(id);
  EXPECT_EQ(batch.get_string("status"), "completed");
  EXPECT_EQ(batch.at("metadata").dump(), R"({"user":"me"})");
  EXPECT_EQ(batch.at("request_counts").dump(), R"({"total":3,"completed":2,"failed":1})");
  const std::string output =
      get("/v1/files/" + batch.get_string("output_file_id") + "/content").body;
  std::vector<std::string> texts;
  batch::each_line(output, true, [&](std::string_view line, size_t) {
    const Json answer = Json::parse(line, "line");
    EXPECT_TRUE(answer.at("error").is_null());
    const Json response = answer.at("response");
    EXPECT_EQ(response.get_int("status_code"), 200);
    const Json body = response.at("body");
    EXPECT_EQ(body.get_string("id"), "cmpl-" + response.get_string("request_id"));
    texts.push_back(body.at("choices").at(size_t{0}).get_string("text"));
  });
  ASSERT_EQ(texts.size(), 2u);
  for (const auto& [prompt, text] :
       {std::pair("One day", texts[0]), std::pair("Two day", texts[1])}) {
    const Answer alone =
        server_->post("/v1/completions", fmt::format(R"({{"prompt":"{}",{}}})", prompt, more));
    EXPECT_EQ(json_of(alone).at("choices").at(size_t{0}).get_string("text"), text);
  }
  const std::string errors =
      get("/v1/files/" + batch.get_string("error_file_id") + "/content").body;
  EXPECT_NE(errors.find(R"("custom_id":"bad","response":{"status_code":400)"), std::string::npos)
      << errors;
  EXPECT_EQ(json_of(get("/v1/batches")).at("data").size(), 1u);
  EXPECT_EQ(error_of(server_->post("/v1/batches/" + id + "/cancel", "")),
            "400 -: Cannot cancel a batch with status 'completed'.");
}

TEST_F(BatchEndpoints, WrongBatchesNameTheField) {
  const std::string file = upload_id("x");
  const auto refusal = [&](const std::string& body) {
    return error_of(server_->post("/v1/batches", body));
  };
  EXPECT_EQ(refusal("{}"), "400 input_file_id: input_file_id: is missing");
  EXPECT_EQ(error_of(create("file-1")),
            "400 input_file_id: input_file_id: No such File object: \"file-1\"");
  EXPECT_EQ(refusal(R"({"input_file_id":"x","endpoint":"/v1/models","completion_window":"24h"})"),
            "400 endpoint: endpoint: \"/v1/models\" is not one of /v1/chat/completions, "
            "/v1/completions, /v1/responses, /v1/embeddings, /v1/rerank, /v1/score");
  EXPECT_EQ(error_of(create(file, R"(,"completion_window":"soon")")),
            "400 completion_window: completion_window: \"soon\" is not 24h, or another number of "
            "hours (h) or days (d)");
  EXPECT_EQ(error_of(create(file, R"(,"metadata":{"a":1})")),
            "400 metadata.a: metadata.a: expected a string");
  EXPECT_EQ(error_of(create(file, R"(,"output_expires_after":{"anchor":"now","seconds":3600})")),
            "400 output_expires_after.anchor: output_expires_after.anchor: expected "
            "\"created_at\"");
  const std::string other = json_of(upload(form_of("x", {{"purpose", "vision"}}))).get_string("id");
  EXPECT_EQ(create(other).status, 400);
  for (const char* path : {"/v1/batches/batch_1", "/v1/batches/..", "/v1/files/..%2F..%2Fx"}) {
    EXPECT_EQ(get(path).status, 404) << path;
  }
  EXPECT_EQ(server_->post("/v1/batches/batch_1/cancel", "").status, 404);
  const Json failed = wait_for_end(json_of(create(file)).get_string("id"));
  EXPECT_EQ(failed.get_string("status"), "failed");
  const Json fault = failed.at("errors").at("data").at(size_t{0});
  EXPECT_EQ(fault.get_string("code"), "invalid_json_line");
  EXPECT_EQ(fault.get_int("line"), 1);
}

}  // namespace
}  // namespace pippin::server
