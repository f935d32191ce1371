// Statistics of a server for Prometheus (text format 0.0.4).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/server/model_list.h"
#include "pippin/server/text_job.h"

namespace pippin::server {

class Histogram {
 public:
  void add(double seconds);
  void write(std::string& out, const char* name, const char* help) const;

 private:
  static constexpr std::array<double, 14> kBounds = {0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                     0.5,   1,     2.5,  5,     10,   30,  120};
  std::array<uint64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
};

// Thread-safe.
class Metrics {
 public:
  // `route` comes from route_label() and `model` is one of the server's, so both have few values.
  void count_request(std::string_view route, int status);
  void count_seconds(double seconds);  // of a handled request
  void count_text(const std::string& model, const Usage& usage);

  // Includes the state of the models' schedulers.
  std::string text(const std::vector<ModelStatus>& models, int connections) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, uint64_t> requests_;
  struct Tokens {
    uint64_t prompt = 0, cached = 0, generated = 0;
  };
  std::map<std::string, Tokens> tokens_;  // by model
  Histogram first_token_, queue_, prompt_, decode_, total_;
};

}  // namespace pippin::server
