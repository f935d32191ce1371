// OpenAI's Files API: /v1/files.
#include <string>
#include <utility>
#include <vector>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/io/json.h"
#include "pippin/server/endpoints.h"
#include "pippin/server/file_upload.h"
#include "pippin/server/kept_files.h"
#include "pippin/server/list_page.h"
#include "pippin/server/message_fields.h"
#include "pippin/server/routes.h"

namespace pippin::server {
namespace {

constexpr PageLimits kFilePages = {.standard = 10'000, .most = 10'000};

[[noreturn]] void refuse_unknown_file(const std::string& id) {
  throw ApiError(404, "No such File object: " + shown(id), "id");
}

// Quotes the name of a file for Content-Disposition (RFC 6266).
std::string attachment(const std::string& name) {
  std::string quoted = "attachment; filename=\"";
  for (const char c : name) {
    const bool is_plain = c >= ' ' && c < 0x7F && c != '"' && c != '\\';
    quoted += is_plain ? c : '_';
  }
  return quoted + "\"";
}

}  // namespace

KeptFiles& Endpoints::kept_files() const {
  if (kept_ == nullptr) {
    throw ApiError(501, "this server keeps no files: start it with --files DIR");
  }
  return *kept_;
}

void Endpoints::create_file(const http::Request& request, const Replying& reply) {
  KeptFiles& kept = kept_files();
  FileUpload upload = read_upload(request, kept.options.max_file);
  reply->send({.body = file_object(kept.files.upload(std::move(upload.file), upload.content))});
}

void Endpoints::list_files(const http::Request& request, const Replying& reply) {
  const std::string_view purpose = http::find_field(request.query, "purpose");
  std::vector<ListedObject> objects;
  for (const StoredFile& file : kept_files().files.list()) {
    if (!purpose.empty() && file.purpose != purpose) continue;
    objects.push_back({file.id, file_object(file)});
  }
  reply->send({.body = list_page(objects, request.query, kFilePages)});
}

void Endpoints::retrieve_file(const http::Request& request, const Replying& reply) {
  const std::string id(name_in_path(request.path));
  const auto file = kept_files().files.find(id);
  if (!file) refuse_unknown_file(id);
  reply->send({.body = file_object(*file)});
}

void Endpoints::read_file_content(const http::Request& request, const Replying& reply) {
  const std::string id(name_in_path(request.path));
  const FileStore& files = kept_files().files;
  const auto file = files.find(id);
  auto content = file ? files.read(id) : std::nullopt;
  if (!content) refuse_unknown_file(id);
  // A browser must not show it as a page of this server.
  reply->send({.content_type = "application/octet-stream",
               .body = std::move(*content),
               .headers = {{"content-disposition", attachment(file->name)},
                           {"x-content-type-options", "nosniff"}}});
}

void Endpoints::delete_file(const http::Request& request, const Replying& reply) {
  const std::string id(name_in_path(request.path));
  if (!kept_files().files.remove(id)) refuse_unknown_file(id);
  JsonWriter json;
  json.begin_object().member("id", id).member("object", "file").member("deleted", true);
  reply->send({.body = json.end_object().text()});
}

}  // namespace pippin::server
