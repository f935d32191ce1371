// The metadata of a model card: the YAML between the two lines --- at the beginning of a README.md,
// which the Hub reads.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace pippin::app {

struct CardMetadata {
  std::string base_model;           // org/name
  std::string base_model_relation;  // "quantized"; empty: none
  std::string library_name, pipeline_tag;
  std::string license, license_name, license_link;
  std::vector<std::string> languages, tags;
  std::vector<std::string> quantization;  // "int8: linear", as in the table of packages
};

// Reads the members that a card of a converted model carries over: license, languages and
// pipeline_tag. All are empty for a text without metadata. Throws InvalidFile for metadata that is
// not YAML.
CardMetadata read_card_metadata(const std::filesystem::path& readme);

// Returns the metadata with its two lines.
std::string write_card_metadata(const CardMetadata& metadata);

}  // namespace pippin::app
