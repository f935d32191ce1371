#include "pippin/pipeline/mpi/job.h"

#include <cstdlib>
#include <optional>

#include <gtest/gtest.h>

#include "pippin/base/error.h"
#include "pippin/base/testing.h"

namespace pippin::pipeline {
namespace {

class Job : public testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name : {"PIPPIN_MPI", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
                             "OMPI_FIRST_RANKS", "PMIX_RANK", "SLURM_STEP_NUM_TASKS"}) {
      ::unsetenv(name);
    }
  }
  static void set(const char* name, const char* value) { ::setenv(name, value, 1); }
};

TEST_F(Job, IsJoinedUnlessItIsOff) {
  EXPECT_EQ(job_size(), std::nullopt);
  set("OMPI_COMM_WORLD_SIZE", "3");
  for (const char* value : {"", "on", "ON", "1"}) {
    set("PIPPIN_MPI", value);
    EXPECT_EQ(job_size(), 3) << value;
  }
  for (const char* value : {"off", "OFF", "Off", "0"}) {
    set("PIPPIN_MPI", value);
    EXPECT_EQ(job_size(), std::nullopt) << value;
  }
  for (const char* value : {"no", "offf", "2", " "}) {
    set("PIPPIN_MPI", value);
    EXPECT_ERROR(job_size(), ErrorCode::InvalidArgument, "neither on or 1 nor off or 0");
  }
}

TEST_F(Job, HasOneRankForEachCommandLineThatReportsErrors) {
  EXPECT_FALSE(repeats_command_line());
  set("OMPI_COMM_WORLD_RANK", "0");
  EXPECT_FALSE(repeats_command_line());
  set("OMPI_COMM_WORLD_RANK", "2");
  EXPECT_TRUE(repeats_command_line());
  set("OMPI_FIRST_RANKS", "0 12");
  EXPECT_TRUE(repeats_command_line());
  set("OMPI_FIRST_RANKS", "0 2");  // mpirun -n 2 pippin A : -n 1 pippin B
  EXPECT_FALSE(repeats_command_line());
  set("OMPI_FIRST_RANKS", "0");
  set("PIPPIN_MPI", "off");
  EXPECT_FALSE(repeats_command_line());
  clear();
  set("PMIX_RANK", "1");
  EXPECT_TRUE(repeats_command_line());
}

}  // namespace
}  // namespace pippin::pipeline
