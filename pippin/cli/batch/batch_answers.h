// The answers of `pippin batch`: those of the server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pippin/batch/request.h"
#include "pippin/server/local_server.h"

namespace pippin::cli {

// Returns a text that differs for models with other names or files: "NAME (3 files, 1.1 MB,
// 0123456789ab)". Large files count with their sizes and ends. Downloads a model of the Hub.
std::string describe_model(const server::ModelEntry& model);

class BatchAnswers {
 public:
  // Loads the model, the only one of `options`. Throws the errors of loading.
  explicit BatchAnswers(server::ModelListOptions options);

  // Throws InvalidFile for a request with an unknown URL or model, or one of another kind.
  void check(const batch::Request& request, const std::string& where) const;
  // A request without a seed gets one that depends on its custom_id and `seed` only.
  batch::Answer answer(const std::string& job, const batch::Request& request, uint64_t seed);
  // Embeds texts (InputKind::Texts) together.
  std::vector<batch::Answer> embed(const std::string& job,
                                   std::span<const batch::Request* const> requests);
  // The number of calls that keep the model busy.
  size_t in_flight() const { return in_flight_; }

 private:
  mutable server::LocalServer server_;
  std::string name_;
  bool writes_ = false, scores_ = false, embeds_ = false;
  size_t in_flight_ = 4;  // as many as the server computes at once for other models
};

}  // namespace pippin::cli
