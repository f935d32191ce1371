// The template language of chat templates: Jinja as transformers sets it up (trim_blocks,
// lstrip_blocks, loop controls, its tojson, raise_exception, strftime_now, the generation tag).
//
//   source -> lexer -> parser -> ast -> interpreter, with filters, tests, methods and operators as
//   tables of small functions over Values.
//
// Templates come with models and are not trusted: they see only what they are given, change
// nothing, and stop at the limits.
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
  std::optional<std::tm> now;  // for strftime_now; the local time where it is not given
};

// Immutable, cheap to copy, safe to render from many threads.
class Template {
 public:
  // Throws Error with the line: InvalidFile for broken syntax, Unsupported for features that are
  // not implemented.
  static Template parse(std::string_view source);

  // `context` is a dict. Throws Error with the line: InvalidArgument for what the template refuses
  // (raise_exception too), LimitExceeded for one that wants too much.
  std::string render(const Value& context, const RenderOptions& options = {}) const;

  // The variables that it takes from its context (free_names.h).
  std::set<std::string> free_names() const;

 private:
  struct Tree;
  explicit Template(std::shared_ptr<const Tree> tree) : tree_(std::move(tree)) {}
  std::shared_ptr<const Tree> tree_;
};

}  // namespace pippin::chat
