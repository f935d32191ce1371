// OpenAI's Batch API: /v1/batches.
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "pippin/base/error.h"
#include "pippin/base/log.h"
#include "pippin/server/batch_creation.h"
#include "pippin/server/endpoints.h"
#include "pippin/server/kept_files.h"
#include "pippin/server/list_page.h"
#include "pippin/server/message_fields.h"
#include "pippin/server/routes.h"

namespace pippin::server {
namespace {

constexpr size_t kMostUnfinished = 1000;

[[noreturn]] void refuse_unknown_batch(const std::string& id) {
  throw ApiError(404, "No such Batch object: " + shown(id), "id");
}

void check_input(const FileStore& files, const std::string& id) {
  const auto file = files.find(id);
  if (!file) refuse_at("input_file_id", "No such File object: " + shown(id));
  if (file->purpose != "batch") {
    refuse_at("input_file_id",
              fmt::format("the purpose of {} is {}, not batch", shown(id), file->purpose));
  }
}

}  // namespace

void Endpoints::create_batch(const http::Request& request, const Replying& reply) {
  KeptFiles& kept = kept_files();
  BatchRecord batch = read_batch(request.body);
  const std::string input = batch.input_file_id;
  check_input(kept.files, input);
  if (kept.batches.unfinished().size() >= kMostUnfinished) {
    throw ApiError(503, fmt::format("{} batches wait already", kMostUnfinished));
  }
  try {
    batch = kept.batches.add(std::move(batch), [&](const std::filesystem::path& path) {
      if (!kept.files.link(input, path)) {
        refuse_at("input_file_id", "No such File object: " + shown(input));
      }
    });
  } catch (const Error& fault) {
    log_warn("a batch was not created: {}", fault.what());
    throw ApiError(507, "the server's disk is full, or cannot be written");
  }
  reply->send({.body = batch_object(batch)});
}

void Endpoints::list_batches(const http::Request& request, const Replying& reply) {
  std::vector<ListedObject> objects;
  const std::vector<BatchRecord> batches = kept_files().batches.list();
  objects.reserve(batches.size());
  for (const BatchRecord& batch : batches) objects.push_back({batch.id, batch_object(batch)});
  reply->send({.body = list_page(objects, request.query, {})});
}

void Endpoints::retrieve_batch(const http::Request& request, const Replying& reply) {
  const std::string id(name_in_path(request.path));
  const auto batch = kept_files().batches.find(id);
  if (!batch) refuse_unknown_batch(id);
  reply->send({.body = batch_object(*batch)});
}

void Endpoints::cancel_batch(const http::Request& request, const Replying& reply) {
  const std::string id(name_in_path(request.path));
  BatchStore& batches = kept_files().batches;
  if (!batches.find(id)) refuse_unknown_batch(id);
  const BatchRecord batch = batches.update(id, [&](BatchRecord& now) {
    if (now.status == BatchStatus::Cancelling) return false;
    if (now.status == BatchStatus::Finalizing || is_final(now.status)) {
      throw ApiError(400,
                     fmt::format("Cannot cancel a batch with status '{}'.", name_of(now.status)));
    }
    now.status = BatchStatus::Cancelling;
    now.cancelling_at = std::time(nullptr);
    return true;
  });
  reply->send({.body = batch_object(batch)});
}

}  // namespace pippin::server
