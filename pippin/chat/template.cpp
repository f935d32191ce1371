#include "pippin/chat/template.h"

#include "pippin/base/error.h"
#include "pippin/chat/free_names.h"
#include "pippin/chat/interpreter.h"
#include "pippin/chat/parser.h"

namespace pippin::chat {
namespace {

constexpr size_t kMaxSourceBytes = 1 << 20;

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm result{};
  localtime_r(&now, &result);
  return result;
}

}  // namespace

struct Template::Tree {
  Body body;
};

Template Template::parse(std::string_view source) {
  if (source.size() > kMaxSourceBytes) {
    fail(ErrorCode::LimitExceeded, "chat template: {} bytes, at most {} are read", source.size(),
         kMaxSourceBytes);
  }
  return Template(std::make_shared<const Tree>(Tree{chat::parse(source)}));
}

std::string Template::render(const Value& context, const RenderOptions& options) const {
  if (!context.is_dict()) fail(ErrorCode::InvalidArgument, "a template's context is a dict");
  return run(tree_->body, context.dict(), options.limits, options.now.value_or(local_time()));
}

std::set<std::string> Template::free_names() const {
  return chat::free_names(tree_->body);
}

}  // namespace pippin::chat
