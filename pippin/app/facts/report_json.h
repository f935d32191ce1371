// Results of work on models as JSON: printed by commands with --json, and read by bindings.
#pragma once

#include <string>

#include "pippin/app/convert/compress.h"
#include "pippin/app/convert/convert.h"
#include "pippin/app/verify.h"
#include "pippin/app/verify_corpus.h"

namespace pippin::app {

// Each returns a JSON object.
std::string to_json(const ConvertResult& result);
std::string to_json(const CompressResult& result);
std::string to_json(const VerifyResult& result);
std::string to_json(const CorpusResult& result);

}  // namespace pippin::app
