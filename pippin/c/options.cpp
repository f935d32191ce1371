#include <iterator>
#include <string>
#include <string_view>

#include "pippin/base/number.h"
#include "pippin/c/boundary.h"
#include "pippin/c/handles.h"

namespace pippin::c {
namespace {

bool read(std::string_view text, bool& value) {
  if (text != "true" && text != "false" && text != "1" && text != "0") return false;
  value = text == "true" || text == "1";
  return true;
}

template <std::integral T>
bool read(std::string_view text, T& value) {
  return parse_number(text, value);
}

bool read(std::string_view text, Precision& value) {
  if (text == "fast") {
    value = Precision::Fast;
  } else if (text == "exact") {
    value = Precision::Exact;
  } else if (text == "reference") {
    value = Precision::Reference;
  } else {
    return false;
  }
  return true;
}

bool read(std::string_view text, std::filesystem::path& value) {
  value = text;
  return true;
}

struct Option {
  const char* name;
  const char* help;
  bool (*set)(pippin_options& options, std::string_view value);  // false: no value of it
};

// clang-format off
constexpr Option kOptions[] = {
    {"precision", "fast, exact (fp32 arithmetic) or reference (operation by operation); of models",
     [](pippin_options& o, std::string_view v) { return read(v, o.model.precision); }},
    {"threads", "how many compute; 0: one per core; of models",
     [](pippin_options& o, std::string_view v) { return read(v, o.model.num_threads); }},
    {"fusion", "true: patterns of operations become one step; of models",
     [](pippin_options& o, std::string_view v) { return read(v, o.model.fusion); }},
    {"load_cache", "a folder that keeps what loading computes for the next load; of models",
     [](pippin_options& o, std::string_view v) { return read(v, o.model.load_cache); }},
    {"load_cache_bytes", "the most that it keeps; 0: 20 GB or a tenth of the disk; of models",
     [](pippin_options& o, std::string_view v) { return read(v, o.model.load_cache_bytes); }},
    {"max_elements", "the most elements of one value; of models",
     [](pippin_options& o, std::string_view v) { return read(v, o.model.max_elements); }},
    {"max_iterations", "the most turns of all loops of a prediction; of models",
     [](pippin_options& o, std::string_view v) { return read(v, o.model.max_iterations); }},
    {"trace", "true: pippin_function_describe() says how predictions were computed; of models",
     [](pippin_options& o, std::string_view v) { return read(v, o.model.trace); }},
};
// clang-format on

}  // namespace
}  // namespace pippin::c

namespace c = pippin::c;
using pippin::ErrorCode;
using pippin::fail;

pippin_code pippin_options_new(pippin_options** options, pippin_error** error) {
  return c::give(options, "options", error, [] { return std::make_unique<pippin_options>(); });
}

void pippin_options_free(pippin_options* options) {
  delete options;
}

pippin_code pippin_options_set(pippin_options* options, const char* name, const char* value,
                               pippin_error** error) {
  return c::guarded(error, [&] {
    c::needed(options, "options");
    const std::string_view wanted = c::needed_text(name, "name");
    const std::string_view text = c::needed_text(value, "value");
    for (const c::Option& option : c::kOptions) {
      if (option.name != wanted) continue;
      if (option.set(*options, text)) return;
      fail(ErrorCode::InvalidArgument, "{} cannot be '{}': {}", name, text, option.help);
    }
    fail(ErrorCode::NotFound, "there is no option '{}'", wanted);
  });
}

int64_t pippin_option_count(void) {
  return std::ssize(c::kOptions);
}

const char* pippin_option_name(int64_t index) {
  if (index < 0 || index >= pippin_option_count()) return nullptr;
  return c::kOptions[index].name;
}

const char* pippin_option_help(int64_t index) {
  if (index < 0 || index >= pippin_option_count()) return nullptr;
  return c::kOptions[index].help;
}
