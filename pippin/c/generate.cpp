#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "pippin/api/llm.h"
#include "pippin/c/boundary.h"
#include "pippin/c/handles.h"
#include "pippin/c/session.h"

struct pippin_completion {
  pippin::Completion completion;
};

namespace pippin::c {
namespace {

static_assert(static_cast<int>(StopReason::EndOfText) == PIPPIN_STOP_END_OF_TEXT);
static_assert(static_cast<int>(StopReason::MaxTokens) == PIPPIN_STOP_MAX_TOKENS);
static_assert(static_cast<int>(StopReason::ContextFull) == PIPPIN_STOP_CONTEXT_FULL);
static_assert(static_cast<int>(StopReason::StopString) == PIPPIN_STOP_STRING);
static_assert(static_cast<int>(StopReason::Callback) == PIPPIN_STOP_CALLBACK);
static_assert(static_cast<int>(StopReason::Cancelled) == PIPPIN_STOP_CANCELLED);
static_assert(sizeof(pippin_token) == 24);

Completion generate(pippin_session& session, std::span<const int32_t> prompt,
                    const pippin_options* options, pippin_token_function on_token, void* user) {
  TextSettings settings = options == nullptr ? TextSettings() : options->text;
  settings.sampling = sampling_options(session.model, options);
  std::vector<int32_t> all;
  if (session.pending) all.push_back(*session.pending);
  all.insert(all.end(), prompt.begin(), prompt.end());
  std::string text;
  const int64_t before = session.sequence->position();
  const auto give = [&](int32_t id, std::string_view piece) {
    if (on_token == nullptr) return true;
    text = piece;
    const pippin_token token = {sizeof(pippin_token), id, text.c_str(), std::ssize(text)};
    return on_token(user, &token) != 0;
  };
  session.logits = {};
  try {
    Completion completion = session.model.generate_tokens(*session.sequence, all, settings, give);
    session.forget();
    // The last token is not fed until its logits are needed.
    const int64_t whole = before + std::ssize(all) + std::ssize(completion.ids);
    if (!completion.ids.empty() && session.sequence->position() == whole - 1) {
      session.pending = completion.ids.back();
    }
    return completion;
  } catch (...) {
    if (session.sequence->position() > before) session.forget();
    throw;
  }
}

}  // namespace
}  // namespace pippin::c

namespace c = pippin::c;

pippin_code pippin_generate(pippin_session* session, const int32_t* prompt, int64_t count,
                            const pippin_options* options, pippin_token_function on_token,
                            void* user, const pippin_cancel* cancel, pippin_completion** completion,
                            pippin_error** error) {
  return c::give(completion, "completion", error, [&] {
    const c::BusyScope busy(c::needed(session, "session"), "session");
    const auto ids = c::needed_items(prompt, count, "prompt");
    const c::CancelBy scope(cancel);
    return std::make_unique<pippin_completion>(
        pippin_completion{c::generate(*session, ids, options, on_token, user)});
  });
}

void pippin_completion_free(pippin_completion* completion) {
  delete completion;
}

const char* pippin_completion_text(const pippin_completion* completion, int64_t* bytes) {
  if (completion == nullptr) return nullptr;
  if (bytes != nullptr) *bytes = std::ssize(completion->completion.text);
  return completion->completion.text.c_str();
}

const int32_t* pippin_completion_ids(const pippin_completion* completion, int64_t* count) {
  if (completion == nullptr) return nullptr;
  if (count != nullptr) *count = std::ssize(completion->completion.ids);
  return completion->completion.ids.data();
}

int32_t pippin_completion_reason(const pippin_completion* completion) {
  return completion == nullptr ? -1 : static_cast<int32_t>(completion->completion.reason);
}

int32_t pippin_completion_number(const pippin_completion* completion, const char* name,
                                 double* number) {
  if (completion == nullptr || name == nullptr || number == nullptr) return 0;
  const pippin::Completion& of = completion->completion;
  const auto statistics = pippin::runtime::summarize(of.timings);
  const std::pair<std::string_view, double> numbers[] = {
      {"prompt_tokens", static_cast<double>(of.prompt_tokens)},
      {"cached_tokens", static_cast<double>(of.cached_tokens)},
      {"prompt_seconds", of.timings.prompt_seconds},
      {"first_token_seconds", of.timings.first_token_seconds},
      {"generate_seconds", of.timings.generate_seconds},
      {"prompt_tokens_per_second", statistics.prompt_tokens_per_second},
      {"tokens_per_second", statistics.tokens_over_elapsed},
  };
  for (const auto& [known, value] : numbers) {
    if (known != name) continue;
    *number = value;
    return 1;
  }
  return 0;
}
