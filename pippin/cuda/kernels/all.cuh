#pragma once

#include "pippin/cuda/kernels/copy.cuh"
#include "pippin/cuda/kernels/elementwise.cuh"
#include "pippin/cuda/kernels/lookup.cuh"
#include "pippin/cuda/kernels/move.cuh"
#include "pippin/cuda/kernels/recurrence.cuh"
#include "pippin/cuda/kernels/reduce.cuh"
#include "pippin/cuda/kernels/rotary.cuh"
#include "pippin/cuda/kernels/rows.cuh"
#include "pippin/cuda/kernels/sort.cuh"
