// Requests for the text of a recording: multipart forms of OpenAI's audio endpoints and of
// whisper.cpp's server.
#pragma once

#include <string_view>

#include "pippin/http/message.h"
#include "pippin/server/request_fields.h"
#include "pippin/speech/options.h"

namespace pippin::server {

enum class TranscriptionForm : uint8_t { Json, Text, Srt, Vtt, VerboseJson };

struct TranscriptionRequest {
  // The fields besides the file, as `endpoint` has them.
  RequestFields fields;
  std::string_view file;  // a part of the request's body
  std::string file_name;  // for messages
  speech::TranscribeOptions options;
  TranscriptionForm form = TranscriptionForm::Json;
  bool streams = false;
  bool with_segments = true;  // of verbose_json
};

// `endpoint`: kTranscriptions, kTranslations or kInference. Throws ApiError: 400 for malformed
// forms, invalid values and no file, 415 for bodies that are not forms.
TranscriptionRequest read_transcription(const http::Request& request, FieldsOf endpoint);

}  // namespace pippin::server
