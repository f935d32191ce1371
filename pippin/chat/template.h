// The language of chat templates: Jinja as configured in transformers (trim_blocks, lstrip_blocks,
// loop controls, its tojson, raise_exception, strftime_now, the generation tag).
//
//   source -> lexer -> parser -> ast -> interpreter, with filters, tests, methods and operators as
//   tables of small functions over Values.
//
// Templates come with models and are untrusted: they see only their context, change nothing, and
// stop at the limits.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "pippin/chat/runtime.h"
#include "pippin/chat/value.h"

namespace pippin::chat {

struct RenderOptions {
  Limits limits;
  std::optional<std::tm> now;  // for strftime_now; default: local time
};

// Immutable, cheap to copy, thread-safe.
class Template {
 public:
  // Throws Error with the line: InvalidFile for a syntax error, Unsupported for features that are
  // not implemented.
  static Template parse(std::string_view source);

  // `context` must be a dict. Throws Error with the line: InvalidArgument for errors of the
  // template, including raise_exception, LimitExceeded if it exceeds its limits.
  std::string render(const Value& context, const RenderOptions& options = {}) const;

  // The variables that it takes from its context (free_names.h).
  std::set<std::string> free_names() const;

 private:
  struct Tree;
  explicit Template(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {}
  std::shared_ptr<const Tree> tree_;
};

}  // namespace pippin::chat
