// The date of a measurement, for reports.
#pragma once

#include <string>

namespace pippin::app {

// Returns the time in UTC: "2026-11-30T18:00:00Z".
std::string utc_now();

}  // namespace pippin::app
