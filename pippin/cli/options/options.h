// Helpers of several commands for declaring options and printing.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "pippin/app/open/draft_choice.h"
#include "pippin/runtime/open/loaded_model.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace pippin::cli {

// Accepts integers in a range. (CLI11's own checks print the largest double, or add their range to
// the help, and its conversion takes a number beyond 64 bits as the largest one.)
CLI::Validator between(int64_t smallest, int64_t largest = std::numeric_limits<int64_t>::max());

// Accepts integers from 0 to 2^64 - 1.
CLI::Validator seed_number();

// Accepts sizes in bytes, with an optional unit ("16G"; units of 1024). CLI11's own check takes -1
// and 2^64 as the largest size.
CLI::Validator size_in_bytes();

// Accepts texts but the empty one.
CLI::Validator not_empty();

// Accepts names with this ending (".npz"), in any case.
CLI::Validator ends_in(const std::string& ending);

// --no-cache: the load cache (io/load_cache.h) is neither read nor written.
void add_no_cache_option(CLI::App& command, bool& no_cache);

// The options of every command that runs a language model: --context, --threads, --adapter,
// --low-memory, --prefill, --precision, --no-cache, --backend and --compute-units, and the flag
// that pins threads, by the names given. `options` must outlive `command`.
void add_load_options(CLI::App& command, runtime::LoadOptions& options,
                      const char* pin_names = "--pin,--pin-threads");
// --chat-template
void add_template_option(CLI::App& command, runtime::LoadOptions& options);

// --draft and --draft-max. `choice` must outlive `command`.
void add_draft_options(CLI::App& command, app::DraftChoice& choice,
                       const std::string& otherwise = "auto");

// Writes the whole text to stdout. Throws Io.
void print_out(const std::string& text);

}  // namespace pippin::cli
