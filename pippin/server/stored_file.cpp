#include "pippin/server/stored_file.h"

#include <chrono>

namespace pippin::server {
namespace {

JsonWriter begin_file(const StoredFile& file) {
  JsonWriter json;
  json.begin_object().member("id", file.id).member("object", "file");
  json.member("bytes", file.bytes).member("created_at", file.created_at());
  if (file.expires_at != 0) json.member("expires_at", file.expires_at);
  json.member("filename", file.name).member("purpose", file.purpose);
  return json;
}

}  // namespace

std::string file_object(const StoredFile& file) {
  JsonWriter json = begin_file(file);
  return json.member("status", "processed").end_object().text();
}

std::string file_text(const StoredFile& file) {
  JsonWriter json = begin_file(file);
  return json.member("created_ns", file.created_ns).end_object().text() + "\n";
}

StoredFile parse_stored_file(const Json& json) {
  StoredFile file;
  file.id = json.get_string("id");
  file.name = json.get_string("filename");
  file.purpose = json.get_string("purpose");
  file.bytes = json.at("bytes").as_uint64();
  file.created_ns = json.get_int("created_ns");
  file.expires_at = json.get_int_or("expires_at", 0);
  return file;
}

int64_t time_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace pippin::server
