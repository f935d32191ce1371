#pragma once

#include "pippin/cuda/kernels/choice.cuh"
#include "pippin/cuda/kernels/masks.cuh"
#include "pippin/cuda/kernels/rows.cuh"
