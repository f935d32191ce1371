#include "pippin/api/transcriber.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pippin/c/boundary.h"
#include "pippin/c/handles.h"

namespace pippin::c {
namespace {

static_assert(sizeof(pippin_segment) == 40);

pippin_segment segment_of(const speech::Segment& segment) {
  return {sizeof(pippin_segment), static_cast<int32_t>(segment.id), segment.start, segment.end,
          segment.text.c_str(),   std::ssize(segment.text)};
}

}  // namespace
}  // namespace pippin::c

struct pippin_transcription {
  explicit pippin_transcription(pippin::speech::Transcription made) : result(std::move(made)) {
    segments.reserve(result.segments.size());
    for (const auto& segment : result.segments) {
      segments.push_back(pippin::c::segment_of(segment));
    }
  }

  pippin::speech::Transcription result;
  std::vector<pippin_segment> segments;  // over its texts
};

namespace pippin::c {
namespace {

// Transcribes by `run`, which gets the options and the events.
template <typename Run>
pippin_code transcribe(const pippin_transcriber* transcriber, const pippin_options* options,
                       pippin_segment_function on_segment, void* user, const pippin_cancel* cancel,
                       pippin_transcription** transcription, pippin_error** error, Run&& run) {
  return give(transcription, "transcription", error, [&] {
    const Transcriber& model = needed(transcriber, "transcriber").model;
    const CancelBy scope(cancel);
    TranscriptionEvents events;
    if (on_segment != nullptr) {
      events.segment = [&](const speech::Segment& segment) {
        const pippin_segment given = segment_of(segment);
        if (on_segment(user, &given) == 0) fail(ErrorCode::Cancelled, "cancelled by the callback");
      };
    }
    return std::make_unique<pippin_transcription>(
        run(model, transcription_options(options), events));
  });
}

}  // namespace
}  // namespace pippin::c

namespace c = pippin::c;
using pippin::ErrorCode;
using pippin::fail;
using pippin::Transcriber;
using pippin::TranscriptionEvents;
using pippin::speech::TranscribeOptions;

pippin_code pippin_transcriber_open(const char* model, const pippin_options* options,
                                    const pippin_cancel* cancel, pippin_transcriber** transcriber,
                                    pippin_error** error) {
  return c::give(transcriber, "transcriber", error, [&] {
    const c::CancelBy scope(cancel);
    return std::make_unique<pippin_transcriber>(pippin_transcriber{
        Transcriber::open(&c::needed(model, "model"), c::transcriber_options(options))});
  });
}

void pippin_transcriber_free(pippin_transcriber* transcriber) {
  delete transcriber;
}

int64_t pippin_transcriber_sampling_rate(const pippin_transcriber* transcriber) {
  return transcriber == nullptr ? 0 : transcriber->model.sampling_rate();
}

int32_t pippin_transcriber_finds_words(const pippin_transcriber* transcriber) {
  return transcriber != nullptr && transcriber->model.finds_words() ? 1 : 0;
}

pippin_code pippin_transcriber_run(const pippin_transcriber* transcriber, const float* samples,
                                   int64_t count, int64_t sampling_rate,
                                   const pippin_options* options,
                                   pippin_segment_function on_segment, void* user,
                                   const pippin_cancel* cancel,
                                   pippin_transcription** transcription, pippin_error** error) {
  return c::transcribe(transcriber, options, on_segment, user, cancel, transcription, error,
                       [&](const Transcriber& model, const TranscribeOptions& by,
                           const TranscriptionEvents& events) {
                         return model.transcribe(c::needed_items(samples, count, "samples"),
                                                 sampling_rate, by, events);
                       });
}

pippin_code pippin_transcriber_run_file(const pippin_transcriber* transcriber, const char* path,
                                        const pippin_options* options,
                                        pippin_segment_function on_segment, void* user,
                                        const pippin_cancel* cancel,
                                        pippin_transcription** transcription,
                                        pippin_error** error) {
  return c::transcribe(transcriber, options, on_segment, user, cancel, transcription, error,
                       [&](const Transcriber& model, const TranscribeOptions& by,
                           const TranscriptionEvents& events) {
                         return model.transcribe_file(&c::needed(path, "path"), by, events);
                       });
}

void pippin_transcription_free(pippin_transcription* transcription) {
  delete transcription;
}

const char* pippin_transcription_text(const pippin_transcription* transcription, int64_t* bytes) {
  if (transcription == nullptr) return nullptr;
  if (bytes != nullptr) *bytes = std::ssize(transcription->result.text);
  return transcription->result.text.c_str();
}

const char* pippin_transcription_language(const pippin_transcription* transcription) {
  return transcription == nullptr ? nullptr : transcription->result.language.c_str();
}

double pippin_transcription_duration(const pippin_transcription* transcription) {
  return transcription == nullptr ? 0 : transcription->result.duration;
}

int64_t pippin_transcription_segment_count(const pippin_transcription* transcription) {
  return transcription == nullptr ? 0 : std::ssize(transcription->segments);
}

const pippin_segment* pippin_transcription_segment(const pippin_transcription* transcription,
                                                   int64_t index) {
  if (index < 0 || index >= pippin_transcription_segment_count(transcription)) return nullptr;
  return &transcription->segments[static_cast<size_t>(index)];
}

pippin_code pippin_transcription_write(const pippin_transcription* transcription,
                                       const char* format, char** text, int64_t* bytes,
                                       pippin_error** error) {
  return c::guarded(error, [&] {
    c::needed(text, "text") = nullptr;
    const auto& from = c::needed(transcription, "transcription").result;
    const std::string_view wanted = c::needed_text(format, "format");
    for (const pippin::speech::FormatName& known : pippin::speech::all_formats()) {
      if (known.name != wanted) continue;
      const std::string made = pippin::speech::write_transcription(from, known.format);
      *text = c::copy_out(std::span<const char>(made));
      if (bytes != nullptr) *bytes = std::ssize(made);
      return;
    }
    fail(ErrorCode::NotFound, "unknown format '{}': json, txt, srt, vtt, tsv or lrc", wanted);
  });
}
