#include "pippin/app/facts/report_json.h"

#include "pippin/app/facts/date.h"
#include "pippin/io/json.h"

namespace pippin::app {
namespace {

// The member "compression" of an object.
void write_compression(JsonWriter& json, const compress::Result& result) {
  const CompressionTotals totals = totals_of(result);
  json.key("compression").begin_object();
  json.member("bytes_before", totals.bytes_before)
      .member("bytes_after", totals.bytes_after)
      .member("bits_per_weight", bits_per_weight(totals.bytes_after, totals.elements))
      .member("error", relative_error(totals.squared_error, totals.energy));
  json.key("weights").begin_array();
  for (const auto& weight : result.compressed) {
    const compress::Measure measure = weight.job->measure().value_or(compress::Measure());
    json.begin_object()
        .member("name", weight.name)
        .member("form", compress::to_string(weight.scheme))
        .member("elements", weight.elements)
        .member("bytes_before", weight.bytes_before)
        .member("bytes_after", weight.bytes_after)
        .member("bits_per_weight", bits_per_weight(weight.bytes_after, weight.elements))
        .member("error", relative_error(measure.squared_error, measure.energy))
        .member("squared_error", measure.squared_error)
        .member("calibrated", measure.calibrated)
        .end_object();
  }
  json.end_array().key("kept").begin_array();
  for (const auto& weight : result.kept) {
    json.begin_object()
        .member("name", weight.name)
        .member("bytes", weight.bytes)
        .member("reason", weight.reason)
        .end_object();
  }
  json.end_array().end_object();
}

}  // namespace

std::string to_json(const ConvertResult& result) {
  JsonWriter writer;
  writer.begin_object()
      .member("path", result.path.string())
      .member("architecture", result.architecture)
      .member("context", result.context)
      .member("parameters", result.parameters)
      .member("packages", result.packages)
      .member("bytes", result.bytes)
      .member("seconds", result.seconds);
  if (result.compression) write_compression(writer, *result.compression);
  if (result.packed.matrices > 0) {
    writer.key("packed").begin_object().member("matrices", result.packed.matrices);
    writer.member("error", result.packed.error).member("largest", result.packed.largest);
    writer.member("worst", result.packed.worst).end_object();
  }
  writer.end_object();
  return writer.text();
}

std::string to_json(const CompressResult& result) {
  JsonWriter writer;
  writer.begin_object()
      .member("path", result.path.string())
      .member("bytes", result.bytes)
      .member("seconds", result.seconds);
  write_compression(writer, result.compression);
  writer.end_object();
  return writer.text();
}

namespace {

void write_members(JsonWriter& writer, const VerifyResult& result) {
  const runtime::Agreement& agreement = result.agreement;
  writer.member("date", utc_now())
      .member("tokens", agreement.tokens)
      .member("mean_kl", agreement.mean_kl)
      .member("max_kl", agreement.max_kl)
      .member("top1", agreement.top1)
      .member("perplexity", agreement.perplexity)
      .member("source_perplexity", agreement.source_perplexity)
      .member("greedy_tokens", agreement.greedy_tokens)
      .member("first_difference", agreement.first_difference.value_or(-1))
      .member("step_difference", agreement.step_difference)
      .member("source_step_difference", agreement.source_step_difference)
      .member("prefill_difference", agreement.prefill_difference)
      .member("source_prefill_difference", agreement.source_prefill_difference)
      .member("holds", result.holds());
  if (agreement.image_difference) writer.member("image_difference", *agreement.image_difference);
  writer.key("parts").begin_array();
  for (const runtime::PartAgreement& part : agreement.parts) {
    writer.begin_object()
        .member("part", part.part)
        .member("source", part.source_part)
        .member("difference", part.difference)
        .end_object();
  }
  writer.end_array();
  writer.key("broken").begin_array();
  for (const std::string& line : result.broken) writer.value(line);
  writer.end_array();
}

}  // namespace

std::string to_json(const VerifyResult& result) {
  JsonWriter writer;
  writer.begin_object();
  write_members(writer, result);
  return writer.end_object().text();
}

std::string to_json(const CorpusResult& result) {
  JsonWriter writer;
  writer.begin_object().member("texts", result.texts).member("failed", result.failed);
  writer.member("first_failure", result.first_failure);
  write_members(writer, result.result);
  return writer.end_object().text();
}

}  // namespace pippin::app
