// The fields of POST /v1/batches.
#pragma once

#include <string_view>

#include "pippin/server/batch_record.h"

namespace pippin::server {

// Returns a batch without an id. Throws ApiError(400).
BatchRecord read_batch(std::string_view body);

}  // namespace pippin::server
