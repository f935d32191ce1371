// Checks of a batch's file of requests.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "pippin/server/batch_record.h"

namespace pippin::server {

struct LineChecks {
  std::string endpoint;  // of all requests
  uint64_t max_requests = 0;
  std::function<bool(const std::string& name)> has_model;
};

struct CheckedLines {
  uint64_t requests = 0;
  std::vector<LineFault> faults;  // the first hundred
};

// Throws Cancelled.
CheckedLines check_lines(std::string_view text, const LineChecks& checks);

}  // namespace pippin::server
