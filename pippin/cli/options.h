// What several commands need to declare their options and to print.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "pippin/app/draft_choice.h"
#include "pippin/runtime/open/loaded_model.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace pippin::cli {

// Accepts integers of a range. (CLI11's own checks print the largest double, or their range in the
// help.)
CLI::Validator between(int64_t smallest, int64_t largest = std::numeric_limits<int64_t>::max());

// Accepts sizes in bytes, with a unit if there is one ("16G"; units of 1024). CLI11's own takes -1
// and 2^64 as the largest size.
CLI::Validator size_in_bytes();

// Accepts names that end so (".npz"), in any case.
CLI::Validator ends_in(const std::string& ending);

// --no-cache: nothing of the load cache (io/load_cache.h) is read or written.
void add_no_cache_option(CLI::App& command, bool& no_cache);

// What every command that runs a language model has: --context, --threads, --adapter, --low-memory,
// --prefill, --precision, --no-cache,
// --backend and --compute-units, and the flag that pins threads, by the names given. `options` has
// to live as long as `command`.
void add_load_options(CLI::App& command, runtime::LoadOptions& options,
                      const char* pin_names = "--pin,--pin-threads");
// --chat-template
void add_template_option(CLI::App& command, runtime::LoadOptions& options);

// --draft and --draft-max. `choice` has to live as long as `command`.
void add_draft_options(CLI::App& command, app::DraftChoice& choice,
                       const std::string& otherwise = "lookup");

// All of it to stdout, at once. Throws Io.
void print_out(const std::string& text);

}  // namespace pippin::cli
