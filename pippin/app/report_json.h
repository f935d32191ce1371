// What became of work on models, as JSON: what commands print with --json, and bindings read.
#pragma once

#include <string>

#include "pippin/app/compress.h"
#include "pippin/app/convert.h"
#include "pippin/app/verify.h"

namespace pippin::app {

// An object each.
std::string to_json(const ConvertResult& result);
std::string to_json(const CompressResult& result);
std::string to_json(const VerifyResult& result);

}  // namespace pippin::app
