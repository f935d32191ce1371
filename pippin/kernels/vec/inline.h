// What every function of a file for one instruction set is: a copy of its own in each caller, which
// no other file can be given.
#pragma once

#define PIPPIN_VEC inline __attribute__((always_inline))
