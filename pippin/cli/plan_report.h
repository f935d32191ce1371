// The output of pippin plan.
#pragma once

#include <string>

#include "pippin/app/facts/capacity.h"

namespace pippin::cli {

std::string plan_text(const app::ModelShape& shape, const app::CapacityPlan& plan,
                      const app::Machines& machines, const app::Load& load);
std::string plan_json(const app::ModelShape& shape, const app::CapacityPlan& plan);

}  // namespace pippin::cli
