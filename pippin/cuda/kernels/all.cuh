#pragma once

#include "pippin/cuda/kernels/choice.cuh"
#include "pippin/cuda/kernels/masks.cuh"
#include "pippin/cuda/kernels/copy.cuh"
#include "pippin/cuda/kernels/elementwise.cuh"
#include "pippin/cuda/kernels/lookup.cuh"
#include "pippin/cuda/kernels/rotary.cuh"
#include "pippin/cuda/kernels/dot_fma.cuh"
#include "pippin/cuda/kernels/dot_gather.cuh"
#include "pippin/cuda/kernels/dot_round.cuh"
#include "pippin/cuda/kernels/dot_row.cuh"
#include "pippin/cuda/kernels/rows.cuh"
