#include <algorithm>
#include <string>

#include "pippin/api/llm.h"
#include "pippin/c/boundary.h"
#include "pippin/c/handles.h"

namespace pippin::c {
namespace {

template <typename T>
void give_items(std::span<const T> items, T** memory, int64_t* count) {
  *memory = copy_out(items);
  if (count != nullptr) *count = std::ssize(items);
}

}  // namespace
}  // namespace pippin::c

namespace c = pippin::c;
using pippin::LanguageModel;

pippin_code pippin_language_model_load(const char* model, const pippin_options* options,
                                       const pippin_cancel* cancel, pippin_language_model** loaded,
                                       pippin_error** error) {
  return c::give(loaded, "loaded", error, [&] {
    const c::CancelBy scope(cancel);
    LanguageModel opened =
        LanguageModel::load(&c::needed(model, "model"), c::language_options(options));
    auto ends = opened.end_tokens();
    return std::make_unique<pippin_language_model>(
        pippin_language_model{std::move(opened), std::move(ends)});
  });
}

void pippin_language_model_free(pippin_language_model* model) {
  delete model;
}

int64_t pippin_language_model_context(const pippin_language_model* model) {
  return model == nullptr ? 0 : model->model.context();
}

int64_t pippin_language_model_vocab_size(const pippin_language_model* model) {
  return model == nullptr ? 0 : model->model.vocab_size();
}

int32_t pippin_language_model_has_chat_template(const pippin_language_model* model) {
  return model != nullptr && model->model.has_chat_template() ? 1 : 0;
}

int32_t pippin_language_model_takes_images(const pippin_language_model* model) {
  return model != nullptr && model->model.takes_images() ? 1 : 0;
}

int32_t pippin_language_model_is_end(const pippin_language_model* model, int32_t id) {
  if (model == nullptr) return 0;
  return std::find(model->ends.begin(), model->ends.end(), id) != model->ends.end() ? 1 : 0;
}

pippin_code pippin_language_model_encode(const pippin_language_model* model, const char* text,
                                         int64_t bytes, int32_t add_special, int32_t** ids,
                                         int64_t* count, pippin_error** error) {
  return c::guarded(error, [&] {
    c::needed(ids, "ids") = nullptr;
    const LanguageModel& from = c::needed(model, "model").model;
    const std::string_view whole =
        bytes == -1 ? c::needed_text(text, "text")
                    : std::string_view(c::needed_items(text, bytes, "text").data(),
                                       static_cast<size_t>(bytes));
    const auto found = from.encode(whole, add_special != 0);
    c::give_items(std::span<const int32_t>(found), ids, count);
  });
}

pippin_code pippin_language_model_decode(const pippin_language_model* model, const int32_t* ids,
                                         int64_t count, int32_t skip_special, char** text,
                                         int64_t* bytes, pippin_error** error) {
  return c::guarded(error, [&] {
    c::needed(text, "text") = nullptr;
    const LanguageModel& from = c::needed(model, "model").model;
    const std::string made = from.decode(c::needed_items(ids, count, "ids"), skip_special != 0);
    c::give_items(std::span<const char>(made), text, bytes);
  });
}

pippin_code pippin_language_model_render(const pippin_language_model* model,
                                         const char* conversation, char** text, int64_t* bytes,
                                         pippin_error** error) {
  return c::guarded(error, [&] {
    c::needed(text, "text") = nullptr;
    const LanguageModel& from = c::needed(model, "model").model;
    const std::string made = from.render(c::needed_text(conversation, "conversation"));
    c::give_items(std::span<const char>(made), text, bytes);
  });
}
