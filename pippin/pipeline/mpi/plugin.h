// The functions of libpippin-mpi.so, which is loaded when a program was started by mpirun: the only
// file with MPI's types. A struct of C, whose version is compared. One caller at a time.
#pragma once

#include <stddef.h>

#define PIPPIN_MPI_VERSION 2

struct PippinMpi {
  int version;
  // Joins the job. Returns 0, or writes the reason.
  int (*start)(int* rank, int* size, char* error, size_t error_size);
  // Copies the message and returns; 0, or the error's number.
  int (*send)(int to, int channel, const void* bytes, size_t size);
  // The size of the next message of that rank (-1: any, and then its number in *from), or -1.
  long long (*waiting)(int* from, int channel);
  // Begins to take it; `size` is what waiting() returned. Null: an error.
  void* (*receive)(int from, int channel, void* bytes, size_t size);
  // 1: it is there, 0: not yet, -1: an error. After 1 and -1, `taken` is gone.
  int (*received)(void* taken);
  // Whether all messages were sent.
  int (*is_idle)(void);
  void (*finish)(void);
  void (*abort)(int status);
  // The name of this machine.
  void (*machine)(char* name, size_t size);
};

#ifdef __cplusplus
extern "C" {
#endif
const struct PippinMpi* pippin_mpi(void);
#ifdef __cplusplus
}
#endif
