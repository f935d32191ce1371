// The adapters of a request: by the name of its model, MODEL:ADAPTER, or in the field `lora`.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/runtime/model.h"
#include "pippin/server/request_fields.h"

namespace pippin::server {

// An item of the field.
struct WantedAdapter {
  std::optional<int64_t> id;  // its place among the model's adapters
  std::string name;           // if there is no id
  std::optional<double> scale;
};

// Reads a name, or a list of names and of {"id": 0, "scale": 1} or {"name": "x", "scale": 1};
// nothing if the field is absent. Throws ApiError(400).
std::optional<std::vector<WantedAdapter>> read_adapters(const RequestFields& body);

// The scales of the adapters of a model for requests that name none. Thread-safe.
class AdapterDefaults {
 public:
  // One for each adapter; empty: as sequences begin.
  std::vector<float> get() const;
  void set(std::vector<float> scales);

 private:
  mutable std::mutex mutex_;
  std::vector<float> scales_;
};

// llama-server's list of a model's adapters: id, path, scale, and the name.
std::string adapter_list(const runtime::Model& model, const AdapterDefaults& defaults);
// Reads llama-server's list of {"id": 0, "scale": 0.5}: the scales of all adapters, 0 of those that
// are not on it. Throws ApiError(400).
std::vector<float> read_adapter_scales(const runtime::Model& model, std::string_view body);

// The model's name in answers: "NAME:ADAPTER" if the request called an adapter so. Here and below,
// `called` is the name of the model in the request, and `name` its own.
std::string answering_name(const runtime::Model& model, const std::string& name,
                           const std::string& called);

// Factors of the changes by the model's adapters (scheduling::Request::adapters): the defaults, if
// the request has neither form.
// Throws ApiError(400) for adapters that the model does not have, and for both forms at once.
std::vector<float> adapters_of(const runtime::Model& model, const std::string& name,
                               const std::string& called,
                               const std::optional<std::vector<WantedAdapter>>& wanted,
                               const AdapterDefaults& defaults);

}  // namespace pippin::server
