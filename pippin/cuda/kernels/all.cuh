#pragma once

#include "pippin/cuda/kernels/dot_fma.cuh"
#include "pippin/cuda/kernels/dot_gather.cuh"
#include "pippin/cuda/kernels/dot_round.cuh"
#include "pippin/cuda/kernels/dot_row.cuh"
#include "pippin/cuda/kernels/dot_tiles.cuh"
#include "pippin/cuda/kernels/rows.cuh"
