// libpippin-mpi.so: messages over MPI. Calls never wait, since implementations wait by spinning,
// which takes a core from ranks on the same machine.
#include "pippin/pipeline/mpi/plugin.h"

#include <climits>
#include <cstdio>
#include <cstring>
#include <list>
#include <vector>

#include <mpi.h>

namespace {

struct Sending {
  MPI_Request request = MPI_REQUEST_NULL;
  std::vector<char> bytes;
};

std::list<Sending>& sendings() {
  static std::list<Sending> all;
  return all;
}

// Releases the messages that were sent.
void release_sent() {
  auto& all = sendings();
  for (auto one = all.begin(); one != all.end();) {
    int done = 0;
    if (MPI_Test(&one->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done != 0) {
      one = all.erase(one);
    } else {
      ++one;
    }
  }
}

int start(int* rank, int* size, char* error, size_t error_size) {
  int provided = MPI_THREAD_SINGLE;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_SERIALIZED) {
    std::snprintf(error, error_size, "MPI has no MPI_THREAD_SERIALIZED (it gives level %d)",
                  provided);
    return 1;
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
  MPI_Comm_size(MPI_COMM_WORLD, size);
  return 0;
}

int send(int to, int channel, const void* bytes, size_t size) {
  release_sent();
  if (size > static_cast<size_t>(INT_MAX)) return MPI_ERR_COUNT;
  Sending& one = sendings().emplace_back();
  const auto* const from = static_cast<const char*>(bytes);
  one.bytes.assign(from, from + size);
  return MPI_Isend(one.bytes.data(), static_cast<int>(size), MPI_BYTE, to, channel, MPI_COMM_WORLD,
                   &one.request);
}

long long waiting(int* from, int channel) {
  release_sent();
  int found = 0, size = 0;
  MPI_Status status;
  const int source = *from < 0 ? MPI_ANY_SOURCE : *from;
  if (MPI_Iprobe(source, channel, MPI_COMM_WORLD, &found, &status) != MPI_SUCCESS || found == 0) {
    return -1;
  }
  if (MPI_Get_count(&status, MPI_BYTE, &size) != MPI_SUCCESS) return -1;
  *from = status.MPI_SOURCE;
  return size;
}

void* receive(int from, int channel, void* bytes, size_t size) {
  auto* const taken = new MPI_Request(MPI_REQUEST_NULL);
  if (MPI_Irecv(bytes, static_cast<int>(size), MPI_BYTE, from, channel, MPI_COMM_WORLD, taken) ==
      MPI_SUCCESS) {
    return taken;
  }
  delete taken;
  return nullptr;
}

int received(void* pending) {
  auto* const taken = static_cast<MPI_Request*>(pending);
  int done = 0;
  const bool failed = MPI_Test(taken, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS;
  if (!failed && done == 0) return 0;
  delete taken;
  return failed ? -1 : 1;
}

int is_idle() {
  release_sent();
  return sendings().empty() ? 1 : 0;
}

void finish() {
  MPI_Finalize();
}

void abort_job(int status) {
  MPI_Abort(MPI_COMM_WORLD, status);
}

void machine(char* name, size_t size) {
  char own[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  MPI_Get_processor_name(own, &length);
  std::snprintf(name, size, "%s", own);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const PippinMpi* pippin_mpi() {
  static const PippinMpi functions = {PIPPIN_MPI_VERSION, start,   send,   waiting,   receive,
                                      received,           is_idle, finish, abort_job, machine};
  return &functions;
}
