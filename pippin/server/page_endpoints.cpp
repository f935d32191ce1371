// The page's own endpoints: the server's tools, and texts that configure other programs for this
// server.
#include <string>

#include "pippin/base/error.h"
#include "pippin/server/client_setups.h"
#include "pippin/server/endpoints.h"
#include "pippin/server/request_json.h"
#include "pippin/server/tool_runner.h"

namespace pippin::server {

// Lists each tool in the form of a request, with its command.
void Endpoints::tools(const http::Request& /*request*/, const Replying& reply) {
  JsonWriter json;
  json.begin_object().member("object", "list").key("data").begin_array();
  if (tools_ != nullptr) {
    for (const shell::ChatTool& tool : tools_->tools()) {
      json.begin_object().member("type", "function").key("function").begin_object();
      json.member("name", tool.name).member("description", tool.description);
      json.key("parameters").raw(tool.parameters).end_object();
      json.member("command", tool.command).end_object();
    }
  }
  reply->send({.body = json.end_array().end_object().text()});
}

void Endpoints::run_tool(const http::Request& request, const Replying& reply) {
  const Json body = parse_body(request.body);
  const auto name = find_string(body, "name");
  if (!name) throw ApiError(400, "name: is missing", "name");
  if (tools_ == nullptr) throw ApiError(404, "the server has no tools: --tool", "name");
  const auto command = find_string(body, "command");
  const shell::ChatTool& tool = tools_->find(*name);
  // The user allowed the command that was shown, not whichever has the name now.
  if (command && *command != tool.command) {
    throw ApiError(409, "the tool \"" + *name + "\" has another command now", "command");
  }
  std::string arguments = "{}";
  if (const auto given = body.find("arguments")) {
    arguments = given->is_string() ? std::string(given->as_string()) : given->dump();
  }
  read_field("arguments", [&] {
    const Json object = Json::parse(arguments, "arguments");
    if (!object.is_object()) object.invalid("expected an object");
  });
  tools_->run(
      tool, arguments, [reply] { return reply->is_gone(); },
      [reply](const std::string& output, bool is_cut) {
        JsonWriter json;
        json.begin_object().member("output", output).member("cut", is_cut).end_object();
        reply->send({.body = json.text()});
      });
}

// ?model=NAME&url=ADDRESS&key=TEXT: the page knows the address by which it is reached, which
// differs from the server's behind a proxy; its key stays with it.
void Endpoints::clients(const http::Request& request, const Replying& reply) {
  const auto given = [&](std::string_view name) {
    return std::string(http::find_field(request.query, name));
  };
  ClientTarget target{.url = given("url"), .key = given("key"), .model = given("model")};
  while (target.url.ends_with('/')) target.url.pop_back();
  if (target.url.empty()) throw ApiError(400, "url: is missing", "url");
  const ModelStatus status = models_.status(target.model);
  if (target.model.empty()) target.model = status.name;
  if (status.model != nullptr) target.context = status.model->loaded.model->context();
  JsonWriter json;
  json.begin_object().member("object", "list").key("data").begin_array();
  for (const ClientSetup& client : client_setups()) {
    json.begin_object().member("name", client.name).member("title", client.title);
    json.member("place", client.place).member("language", client.language);
    json.member("for_encoders", client.for_encoders);
    json.member("text", setup_text(client, target)).end_object();
  }
  reply->send({.body = json.end_array().end_object().text()});
}

}  // namespace pippin::server
