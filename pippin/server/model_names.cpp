#include "pippin/server/model_names.h"

namespace pippin::server {
namespace {

constexpr std::string_view kLatest = ":latest";

}  // namespace

std::string_view plain_name(std::string_view name) {
  for (const std::string_view host : {"hf.co/", "huggingface.co/"}) {
    if (name.starts_with(host)) name.remove_prefix(host.size());
  }
  if (name.ends_with(kLatest)) name.remove_suffix(kLatest.size());
  return name;
}

std::string tagged_name(const std::string& name) {
  return name.find(':') == std::string::npos ? name + std::string(kLatest) : name;
}

}  // namespace pippin::server
