#include "pippin/c/session.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "pippin/base/files/file.h"
#include "pippin/c/boundary.h"
#include "pippin/c/handles.h"
#include "pippin/runtime/sampling/sampler.h"

struct pippin_sampler {
  pippin::runtime::Sampler sampler;
};

using pippin::ErrorCode;
using pippin::fail;

std::vector<int32_t> pippin_session::tokens() const {
  const std::span<const int32_t> fed = sequence->tokens();
  std::vector<int32_t> all(fed.begin(), fed.end());
  if (pending) all.push_back(*pending);
  return all;
}

void pippin_session::feed(std::span<const int32_t> ids) {
  std::vector<int32_t> all;
  if (pending) all.push_back(*pending);
  all.insert(all.end(), ids.begin(), ids.end());
  const int64_t before = sequence->position();
  logits = {};
  try {
    logits = sequence->prefill(all);
  } catch (...) {
    if (sequence->position() > before) pending.reset();
    throw;
  }
  pending.reset();
}

std::span<const float> pippin_session::last_logits() {
  if (pending) feed({});
  if (logits.empty()) {
    fail(ErrorCode::InvalidArgument, "tokens have to be fed before the next one can be chosen");
  }
  return logits;
}

void pippin_session::truncate(int64_t count) {
  if (count == position()) return;
  if (count < 0 || count > position()) {
    fail(ErrorCode::InvalidArgument, "{} tokens of {} cannot be kept", count, position());
  }
  if (count < sequence->position()) {
    sequence->truncate(count);
  }
  forget();
}

std::span<const int32_t> pippin_session::begin(const pippin::VisionPrompt& prompt) {
  const int64_t keep = pippin::runtime::keepable(*sequence, tokens(), prompt.ids);
  if (keep == 0) {
    sequence->reset();
    forget();
  } else {
    truncate(keep);
  }
  provide_rows(*sequence, prompt, keep);
  return std::span(prompt.ids).subspan(static_cast<size_t>(keep));
}

void pippin_session::forget() {
  pending.reset();
  logits = {};
  decoder = pippin::TokenDecoder(model);
}

namespace pippin::c {
namespace {

static_assert(sizeof(pippin_image) == 32);

std::vector<MessageImage> read_images(std::span<const pippin_image> given) {
  std::vector<MessageImage> images;
  images.reserve(given.size());
  for (const pippin_image& one : given) {
    const std::string name = fmt::format("images[{}]", images.size());
    if (one.size != sizeof(pippin_image)) {
      fail(ErrorCode::InvalidArgument, "{}: size is {}, not {}", name, one.size,
           sizeof(pippin_image));
    }
    if ((one.path == nullptr) == (one.data == nullptr)) {
      fail(ErrorCode::InvalidArgument, "{}: has {}", name,
           one.path == nullptr ? "neither a path nor data" : "both a path and data");
    }
    if (one.path != nullptr) {
      images.push_back({read_file(one.path), one.path});
    } else {
      const auto* const first = static_cast<const char*>(one.data);
      const auto bytes = needed_items(first, one.bytes, name.c_str());
      images.push_back({std::string(bytes.begin(), bytes.end()), name});
    }
  }
  return images;
}

}  // namespace
}  // namespace pippin::c

namespace c = pippin::c;

pippin_code pippin_session_open(const pippin_language_model* model, pippin_session** session,
                                pippin_error** error) {
  return c::give(session, "session", error,
                 [&] { return std::make_unique<pippin_session>(c::needed(model, "model").model); });
}

void pippin_session_free(pippin_session* session) {
  delete session;
}

int64_t pippin_session_position(const pippin_session* session) {
  return session == nullptr ? 0 : session->position();
}

pippin_code pippin_session_tokens(pippin_session* session, int32_t** ids, int64_t* count,
                                  pippin_error** error) {
  return c::guarded(error, [&] {
    c::needed(ids, "ids") = nullptr;
    const c::BusyScope busy(c::needed(session, "session"), "session");
    const std::vector<int32_t> tokens = session->tokens();
    *ids = c::copy_out(std::span<const int32_t>(tokens));
    if (count != nullptr) *count = std::ssize(tokens);
  });
}

pippin_code pippin_session_feed(pippin_session* session, const int32_t* ids, int64_t count,
                                const pippin_cancel* cancel, pippin_error** error) {
  return c::guarded(error, [&] {
    const c::BusyScope busy(c::needed(session, "session"), "session");
    const auto tokens = c::needed_items(ids, count, "ids");
    const c::CancelBy scope(cancel);
    session->decoder = pippin::TokenDecoder(session->model);
    session->feed(tokens);
  });
}

pippin_code pippin_session_prompt(pippin_session* session, const char* conversation,
                                  const pippin_image* images, int64_t image_count,
                                  const pippin_cancel* cancel, int32_t** ids, int64_t* count,
                                  pippin_error** error) {
  return c::guarded(error, [&] {
    c::needed(ids, "ids") = nullptr;
    const c::BusyScope busy(c::needed(session, "session"), "session");
    const std::string_view text = c::needed_text(conversation, "conversation");
    const auto given = c::needed_items(images, image_count, "images");
    const c::CancelBy scope(cancel);
    const pippin::VisionPrompt prompt = session->model.prompt(text, c::read_images(given));
    if (prompt.ids.empty()) {
      fail(ErrorCode::InvalidArgument, "the conversation has no tokens to answer");
    }
    const std::span<const int32_t> rest = session->begin(prompt);
    *ids = c::copy_out(rest);
    if (count != nullptr) *count = std::ssize(rest);
  });
}

const float* pippin_session_logits(const pippin_session* session, int64_t* count) {
  if (session == nullptr || session->pending || session->logits.empty()) return nullptr;
  if (count != nullptr) *count = std::ssize(session->logits);
  return session->logits.data();
}

pippin_code pippin_session_next(pippin_session* session, pippin_sampler* sampler,
                                const pippin_cancel* cancel, int32_t* id, pippin_error** error) {
  return c::guarded(error, [&] {
    const c::BusyScope busy(c::needed(session, "session"), "session");
    c::needed(id, "id");
    const c::CancelBy scope(cancel);
    const std::span<const float> logits = session->last_logits();
    if (sampler == nullptr) {
      *id = static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
    } else {
      const std::span<const int32_t> tokens = session->sequence->tokens();
      const size_t seen = std::min(tokens.size(), sampler->sampler.history().tokens().size());
      if (seen < tokens.size()) sampler->sampler.observe(tokens.subspan(seen));
      *id = sampler->sampler.sample(logits);
    }
    session->pending = *id;
  });
}

pippin_code pippin_session_text(pippin_session* session, int32_t id, const char** text,
                                int64_t* bytes, pippin_error** error) {
  return c::guarded(error, [&] {
    c::needed(text, "text") = nullptr;
    const c::BusyScope busy(c::needed(session, "session"), "session");
    if (id == -1) {
      session->piece = session->decoder.finish();
      session->decoder = pippin::TokenDecoder(session->model);
    } else {
      session->piece = session->decoder.push(id);
    }
    *text = session->piece.c_str();
    if (bytes != nullptr) *bytes = std::ssize(session->piece);
  });
}

pippin_code pippin_session_reset(pippin_session* session, pippin_error** error) {
  return c::guarded(error, [&] {
    const c::BusyScope busy(c::needed(session, "session"), "session");
    session->sequence->reset();
    session->forget();
  });
}

pippin_code pippin_session_truncate(pippin_session* session, int64_t count, pippin_error** error) {
  return c::guarded(error, [&] {
    const c::BusyScope busy(c::needed(session, "session"), "session");
    session->truncate(count);
  });
}

pippin_code pippin_session_fork(pippin_session* session, pippin_session** fork,
                                pippin_error** error) {
  return c::give(fork, "fork", error, [&] {
    const c::BusyScope busy(c::needed(session, "session"), "session");
    auto copy = std::make_unique<pippin_session>(session->model, session->sequence->fork());
    copy->pending = session->pending;
    copy->copied_logits.assign(session->logits.begin(), session->logits.end());
    copy->logits = copy->copied_logits;
    return copy;
  });
}

pippin_code pippin_session_save(pippin_session* session, const char* path, pippin_error** error) {
  return c::guarded(error, [&] {
    const c::BusyScope busy(c::needed(session, "session"), "session");
    c::needed(path, "path");
    if (session->pending) session->feed({});
    session->sequence->save(path);
  });
}

pippin_code pippin_session_restore(pippin_session* session, const char* path,
                                   pippin_error** error) {
  return c::guarded(error, [&] {
    const c::BusyScope busy(c::needed(session, "session"), "session");
    session->sequence->restore(&c::needed(path, "path"));
    session->forget();
  });
}

pippin_code pippin_sampler_new(const pippin_language_model* model, const pippin_options* options,
                               pippin_sampler** sampler, pippin_error** error) {
  return c::give(sampler, "sampler", error, [&] {
    return std::make_unique<pippin_sampler>(pippin_sampler{
        pippin::runtime::Sampler(c::sampling_options(c::needed(model, "model").model, options))});
  });
}

void pippin_sampler_free(pippin_sampler* sampler) {
  delete sampler;
}
