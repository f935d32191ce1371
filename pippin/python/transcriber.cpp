// Models of speech, and the segments of a recording while it is transcribed.
#include "pippin/api/transcriber.h"

#include <cmath>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "pippin/base/error.h"
#include "pippin/io/load_cache.h"
#include "pippin/python/arrays.h"
#include "pippin/python/background_work.h"
#include "pippin/python/bindings.h"
#include "pippin/python/docstrings.h"
#include "pippin/python/lock.h"
#include "pippin/python/options.h"
#include "pippin/python/work_stream.h"
#include "pippin/speech/option_table.h"

namespace pippin::python {
namespace {

namespace py = pybind11;
using speech::TranscribeOptions;

// --- options ---

void take_known(Options& options, const speech::TranscribeOption& known, TranscribeOptions& taken) {
  const auto read = [&](const char* name) {
    std::visit([&](auto member) { options.take(name, taken.*member); }, known.member);
  };
  read(known.name);
  if (known.alias != nullptr) read(known.alias);
}

// The judgements that None switches off, unlike an absent argument.
void take_none(const py::dict& given, const speech::TranscribeOption& known,
               TranscribeOptions& taken) {
  const auto* threshold =
      std::get_if<speech::TranscribeOption::Member<std::optional<double>>>(&known.member);
  if (threshold == nullptr) return;
  for (const char* name : {known.name, known.alias}) {
    if (name != nullptr && given.contains(name) && given[name].is_none()) {
      (taken.*(*threshold)).reset();
    }
  }
}

// A list of numbers, or OpenAI's form of one: a text with commas.
template <typename T>
void take_numbers(Options& options, py::dict& given, const char* name, std::vector<T>& list) {
  if (!given.contains(name) || !py::isinstance<py::str>(given[name])) return;
  const py::str text = given[name];
  py::list numbers;
  for (const py::handle part : text.attr("split")(",")) {
    if (py::len(part.attr("strip")()) == 0) continue;
    try {
      numbers.append(std::is_floating_point_v<T>
                         ? py::object(py::float_(py::reinterpret_borrow<py::object>(part)))
                         : py::object(py::int_(py::reinterpret_borrow<py::object>(part))));
    } catch (const py::error_already_set&) {
      fail(ErrorCode::InvalidArgument, "{}: '{}' is not a list of numbers", name,
           text.cast<std::string>());
    }
  }
  options.take_object(name);
  list = numbers.cast<std::vector<T>>();
  given[name] = py::none();
}

void take_temperature(Options& options, TranscribeOptions& taken) {
  const py::object given = options.take_object("temperature");
  if (given.is_none()) return;
  double one = 0;
  if (py::isinstance<py::float_>(given) || py::isinstance<py::int_>(given)) {
    options.take("temperature", one);
    taken.temperatures = {one};
  } else {
    options.take("temperature", taken.temperatures);
  }
}

// faster-whisper's dictionary of the options of vad_filter, without their prefix.
void add_vad_parameters(py::dict& given) {
  if (!given.contains("vad_parameters")) return;
  const py::object parameters = given.attr("pop")("vad_parameters");
  if (parameters.is_none()) return;
  if (!py::isinstance<py::dict>(parameters)) {
    fail(ErrorCode::InvalidArgument, "vad_parameters: not a dict");
  }
  for (const auto& [key, value] : parameters.cast<py::dict>()) {
    const std::string name = fmt::format("vad_{}", py::str(key).cast<std::string>());
    const bool has_limit =
        !py::isinstance<py::float_>(value) || std::isfinite(value.cast<double>());
    given[name.c_str()] = has_limit ? py::reinterpret_borrow<py::object>(value) : py::none();
  }
}

TranscribeOptions transcribe_options_of(const py::kwargs& kwargs) {
  py::dict given = kwargs.attr("copy")();
  TranscribeOptions taken;
  add_vad_parameters(given);
  Options options(given);
  std::string language = "auto", task = "transcribe";
  options.take("language", language);
  options.take("task", task);
  speech::set_language(taken, language);
  speech::set_task(taken, task);
  take_temperature(options, taken);
  take_numbers(options, given, "clip_timestamps", taken.clip_timestamps);
  take_numbers(options, given, "suppress_tokens", taken.suppress_tokens);
  for (const speech::TranscribeOption& known : speech::transcribe_options()) {
    take_known(options, known, taken);
    take_none(given, known, taken);
  }
  // OpenAI's; weights have the type that the model was opened with.
  options.take_object("fp16");
  bool verbose = false;
  options.take("verbose", verbose);
  if (verbose) {
    fail(ErrorCode::Unsupported,
         "verbose: nothing is printed here: print the segments of stream()");
  }
  options.refuse_others();
  taken.check();
  return taken;
}

// --- sound ---

struct Samples {
  std::vector<float> values;
  int64_t sampling_rate = 0;
};
// A path, the bytes of a file, or samples.
using SoundInput = std::variant<std::string, Tensor, Samples>;

Samples samples_from(const Tensor& tensor, int64_t sampling_rate) {
  if (tensor.shape().size() != 1) {
    fail(ErrorCode::InvalidArgument,
         "audio: an array of {} axes; samples of one channel have one: [samples]",
         tensor.shape().size());
  }
  constexpr float kInt16 = 32768;
  Samples samples{{}, sampling_rate};
  switch (tensor.type()) {
    case pippin::DataType::Float16:
    case pippin::DataType::Float32:
    case pippin::DataType::Float64:
      samples.values = tensor.to_floats();
      return samples;
    case pippin::DataType::Int16:
      samples.values = tensor.to_floats();
      for (float& value : samples.values) value /= kInt16;
      return samples;
    default:
      fail(ErrorCode::InvalidArgument,
           "audio: {} is not a type of samples: floats from -1 to 1 or int16",
           to_string(tensor.type()));
  }
}

SoundInput audio_from(const py::object& audio, int64_t sampling_rate) {
  if (py::isinstance<py::str>(audio) || py::hasattr(audio, "__fspath__")) {
    return audio.cast<std::filesystem::path>().string();
  }
  Tensor tensor = to_tensor(audio, "audio");
  if (tensor.type() != pippin::DataType::UInt8) return samples_from(tensor, sampling_rate);
  return tensor.is_contiguous() ? std::move(tensor) : tensor.copy();
}

speech::Transcription transcribe_audio(const Transcriber& model, const SoundInput& audio,
                                       const TranscribeOptions& options,
                                       const TranscriptionEvents& events) {
  if (const auto* path = std::get_if<std::string>(&audio)) {
    return model.transcribe_file(*path, options, events);
  }
  if (const auto* file = std::get_if<Tensor>(&audio)) {
    return model.transcribe_bytes(file->bytes(), "audio", options, events);
  }
  const auto& samples = std::get<Samples>(audio);
  return model.transcribe(samples.values, samples.sampling_rate, options, events);
}

// --- results ---

py::list word_dicts(const std::vector<speech::Word>& words) {
  py::list result;
  for (const speech::Word& word : words) {
    py::dict one;
    one["word"] = word.text;
    one["start"] = word.start;
    one["end"] = word.end;
    one["probability"] = word.probability;
    result.append(std::move(one));
  }
  return result;
}

py::dict as_dict(const speech::Segment& segment, bool has_words) {
  py::dict result;
  result["id"] = segment.id;
  result["seek"] = segment.seek;
  result["start"] = segment.start;
  result["end"] = segment.end;
  result["text"] = segment.text;
  result["tokens"] = segment.tokens;
  result["temperature"] = segment.temperature;
  result["avg_logprob"] = segment.avg_logprob;
  result["compression_ratio"] = segment.compression_ratio;
  result["no_speech_prob"] = segment.no_speech_prob;
  if (has_words) result["words"] = word_dicts(segment.words);
  return result;
}

py::dict as_dict(const speech::Transcription& made, bool has_words) {
  py::dict result;
  result["text"] = made.text;
  py::list segments, words;
  for (const speech::Segment& segment : made.segments) {
    segments.append(as_dict(segment, has_words));
    for (const py::handle word : word_dicts(segment.words)) words.append(word);
  }
  result["segments"] = std::move(segments);
  if (made.language.empty()) {
    result["language"] = py::none();
  } else {
    result["language"] = made.language;
  }
  result["duration"] = made.duration;
  if (has_words) result["words"] = std::move(words);
  return result;
}

// --- objects ---

// A function of Python that the work's thread calls through the waiting thread; may be None.
std::function<void(double, double)> seconds_told_to(const py::object& given,
                                                    BackgroundWork& background) {
  if (given.is_none()) return {};
  const std::shared_ptr<py::object> call(new py::object(given), [](py::object* kept) {
    const Locked lock;
    delete kept;
  });
  return [call, &background](double done, double seconds) {
    background.call_python([&] { (*call)(done, seconds); });
  };
}

class SegmentStream {
 public:
  SegmentStream(Transcriber model, SoundInput audio, TranscribeOptions options,
                const py::object& progress)
      : model_(std::move(model)),
        audio_(std::move(audio)),
        options_(std::move(options)),
        stream_(kAhead) {
    events_.progress = seconds_told_to(progress, stream_.background());
    events_.segment = [this](const speech::Segment& segment) { stream_.give(segment); };
    stream_.start([this] { result_ = transcribe_audio(model_, audio_, options_, events_); });
  }

  py::dict next() {
    if (const auto segment = stream_.next()) return as_dict(*segment, options_.word_timestamps);
    throw py::stop_iteration();
  }
  void close() { stream_.close(); }
  py::dict result() {
    if (!stream_.has_ended() || !result_) {
      fail(ErrorCode::InvalidArgument, "the recording has not ended yet");
    }
    return as_dict(*result_, options_.word_timestamps);
  }

 private:
  static constexpr size_t kAhead = 64;

  const Transcriber model_;
  const SoundInput audio_;
  const TranscribeOptions options_;
  TranscriptionEvents events_;
  std::optional<speech::Transcription> result_;  // of the thread, until it has ended
  WorkStream<speech::Segment> stream_;
};

std::unique_ptr<Transcriber> open_transcriber(const std::filesystem::path& path,
                                              const std::string& tokenizer, int num_threads,
                                              bool load_cache, const std::string& vad) {
  TranscriberOptions options;
  options.tokenizer = tokenizer;
  options.vad = vad;
  options.threads = num_threads;
  if (load_cache) options.compute.cache = default_load_cache();
  std::optional<Transcriber> made;
  run_work(
      [&](BackgroundWork& /*background*/) { made = Transcriber::open(path.string(), options); });
  return std::make_unique<Transcriber>(*std::move(made));
}

py::dict whole_text(const Transcriber& own, const py::object& audio, int64_t sampling_rate,
                    const py::object& progress, const py::kwargs& kwargs) {
  const TranscribeOptions options = transcribe_options_of(kwargs);
  const SoundInput sound = audio_from(audio, sampling_rate);
  speech::Transcription made;
  TranscriptionEvents events;
  run_work(
      [&](BackgroundWork& background) { events.progress = seconds_told_to(progress, background); },
      [&](BackgroundWork& /*background*/) {
        made = transcribe_audio(own, sound, options, events);
      });
  return as_dict(made, options.word_timestamps);
}

std::unique_ptr<SegmentStream> segments_of(const Transcriber& own, const py::object& audio,
                                           int64_t sampling_rate, const py::object& progress,
                                           const py::kwargs& kwargs) {
  TranscribeOptions options = transcribe_options_of(kwargs);
  return std::make_unique<SegmentStream>(own, audio_from(audio, sampling_rate), std::move(options),
                                         progress);
}

}  // namespace

void bind_transcribers(py::module_& module) {
  constexpr int64_t kRate = 16000;
  py::class_<SegmentStream>(module, "SegmentStream", docs::kSegmentStream)
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &SegmentStream::next)
      .def("close", &SegmentStream::close, "Ends the transcription.")
      .def_property_readonly("result", &SegmentStream::result,
                             "The whole result, as of transcribe(); available after the end.");
  py::class_<Transcriber>(module, "Transcriber", docs::kTranscriber)
      .def(py::init(&open_transcriber), py::arg("path"), py::kw_only(), py::arg("tokenizer") = "",
           py::arg("num_threads") = 0, py::arg("load_cache") = true, py::arg("vad") = "",
           "path: a folder as it is on the Hub, a package, or org/name. num_threads: 0 is one per "
           "core. load_cache: keeps what loading computes for the next load. vad: a model of voice "
           "for vad_filter, a package of Silero's detector or org/name.")
      .def("transcribe", &whole_text, py::arg("audio"), py::kw_only(),
           py::arg("sampling_rate") = kRate, py::arg("progress") = py::none(), docs::kTranscribe)
      .def("stream", &segments_of, py::arg("audio"), py::kw_only(),
           py::arg("sampling_rate") = kRate, py::arg("progress") = py::none(),
           "Returns an iterator over the segments, each as soon as it is recognized. Arguments are "
           "those of transcribe(). Errors of the recording are raised by the iterator.")
      .def_property_readonly("sampling_rate", &Transcriber::sampling_rate,
                             "The rate of the samples that the model takes.")
      .def_property_readonly("finds_words", &Transcriber::finds_words,
                             "Whether word_timestamps is possible.");
}

}  // namespace pippin::python
