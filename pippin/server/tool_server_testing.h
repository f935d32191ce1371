// For tests only: a server of the demo model with other chat templates.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "pippin/base/files/output.h"
#include "pippin/base/testing.h"
#include "pippin/model_output/syntax_testing.h"
#include "pippin/server/server_testing.h"

namespace pippin::server {

// Uses the demo model with a template of this syntax of calls.
class ToolServer {
 public:
  explicit ToolServer(std::string_view calls)
      : ToolServer(model_output::template_source(calls), 0) {}
  // Uses a complete template.
  ToolServer(const std::string& source, int /*whole*/, Options options = demo_options()) {
    const std::filesystem::path file = folder_ / "template.jinja";
    write_file(file, source);
    options.models.choice.load.chat_template = file.string();
    server_ = std::make_unique<DemoServer>(std::move(options));
  }
  http::Answer chat(const std::string& more) const {
    return server_->post("/v1/chat/completions",
                         R"({"messages":[{"role":"user","content":"Go"}],)" + more + "}");
  }
  http::Answer messages(const std::string& more) const {
    return server_->post("/v1/messages",
                         R"({"messages":[{"role":"user","content":"Go"}],)" + more + "}");
  }
  http::Answer respond(const std::string& body) const { return post("/v1/responses", body); }
  const DemoServer& server() const { return *server_; }
  http::Answer post(std::string_view target, std::string_view body) const {
    return server_->post(target, body);
  }

 private:
  TempDir folder_;
  std::unique_ptr<DemoServer> server_;
};

}  // namespace pippin::server
