#include "pippin/doctor/report_text.h"
#include "pippin/io/json.h"

namespace pippin::doctor {
namespace {

void write_finding(JsonWriter& json, const Finding& finding) {
  const Rule& rule = *finding.rule;
  json.begin_object()
      .member("rule", rule.id)
      .member("severity", to_string(rule.severity))
      .member("what", rule.what)
      .member("why", rule.why)
      .member("source", rule.source)
      .member("remedy", rule.remedy)
      .member("fixable", rule.fixable)
      .member("keeps_off_neural_engine", rule.keeps_off);
  json.key("places").begin_array();
  for (const Place& place : finding.places) {
    json.begin_object()
        .member("function", place.function)
        .member("name", place.name)
        .member("detail", place.detail)
        .end_object();
  }
  json.end_array().end_object();
}

void write_estimate(JsonWriter& json, const PackageEstimate& estimate) {
  json.key("estimate")
      .begin_object()
      .member("weight_bytes", estimate.weight_bytes)
      .member("loads", estimate.loads)
      .member("bytes_per_token", estimate.token_bytes)
      .member("cache_bytes", estimate.cache_bytes);
  json.key("functions").begin_array();
  for (const FunctionEstimate& function : estimate.functions) {
    json.begin_object()
        .member("name", function.name)
        .member("neural_engine_share", function.engine_share)
        .member("pieces", function.pieces)
        .end_object();
  }
  json.end_array().end_object();
}

}  // namespace

std::string report_json(const Report& report) {
  JsonWriter json(1);
  json.begin_object().member("path", report.path.string());
  if (report.target) json.member("target", report.target->name);
  for (const Severity severity : {Severity::Error, Severity::Warning, Severity::Note}) {
    json.member(std::string(to_string(severity)) + "s", report.count(severity));
  }
  json.key("parts").begin_array();
  for (const PartReport& part : report.parts) {
    json.begin_object()
        .member("name", part.name)
        .member("kind", part.kind)
        .member("specification_version", part.specification_version);
    json.key("findings").begin_array();
    for (const Finding& finding : part.findings) write_finding(json, finding);
    json.end_array();
    if (part.estimate) write_estimate(json, *part.estimate);
    json.end_object();
  }
  json.end_array().end_object();
  return json.text() + "\n";
}

}  // namespace pippin::doctor
