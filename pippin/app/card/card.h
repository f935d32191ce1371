// A model card for converted packages: README.md with the Hub's metadata, the table of packages,
// measurements, and commands that run them.
//
// Every number is a size of a file or from a report of `pippin verify` or `pippin bench`, with its
// date; sections without a report are left out.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pippin/app/card/card_metadata.h"
#include "pippin/app/card/card_parts.h"
#include "pippin/io/json.h"

namespace pippin::app {

// A report of --json, of the model of that name (CardModel::name).
struct CardReport {
  std::string model;
  Json report;
};

struct CardOptions {
  std::string repo;   // org/name, for commands; empty: the commands name the folder
  std::string base;   // org/name of the base model; empty: from the packages' metadata
  std::string title;  // empty: the repository's or the folder's name
  CardMetadata
      carried;  // of the base model's card; `license` must be set by the caller, or is left out
  std::string version;  // "pippin 0.1.0 (01234567)"
  std::vector<CardReport> agreements, speeds;
};

// Returns the text. Throws InvalidArgument for a report of an unknown model, InvalidFile for a
// report without its members, NotFound for a folder without packages.
std::string write_card(const std::filesystem::path& folder, const CardOptions& options);

// The sections; declared for card.cpp.
std::string card_agreement_section(const std::vector<CardReport>& reports);
std::string card_speed_section(const std::vector<CardReport>& reports);
std::string card_commands_section(const std::vector<CardModel>& models, const std::string& repo,
                                  const std::filesystem::path& folder);

}  // namespace pippin::app
