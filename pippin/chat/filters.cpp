#include "pippin/chat/filters.h"

#include "pippin/chat/operators.h"

namespace pippin::chat {
namespace {

const FilterEntry* find(std::string_view name) {
  for (const auto filters : {text_filters(), list_filters(), layout_filters()}) {
    for (const FilterEntry& entry : filters) {
      if (entry.name == name) return &entry;
    }
  }
  return nullptr;
}

}  // namespace

bool has_filter(std::string_view name) {
  return find(name) != nullptr;
}

Value apply_filter(Runtime& runtime, std::string_view name, const Value& input,
                   const Arguments& arguments) {
  runtime.step();
  runtime.look(input);
  runtime.look(arguments);
  const FilterEntry* entry = find(name);
  if (entry == nullptr) template_error("no filter named '{}'", name);
  return entry->apply(runtime, input, arguments);
}

}  // namespace pippin::chat
