#include "pippin/server/long_jobs.h"

namespace pippin::server {
namespace {

constexpr size_t kJobThreads = 2;
constexpr size_t kMostJobs = 64;

}  // namespace

LongJobs::LongJobs() : workers_(kJobThreads, kMostJobs) {}

LongJobs::~LongJobs() {
  is_stopping_.request();
}

}  // namespace pippin::server
