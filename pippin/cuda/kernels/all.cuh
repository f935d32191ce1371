#pragma once

#include "pippin/cuda/kernels/attention.cuh"
#include "pippin/cuda/kernels/attention_few.cuh"
#include "pippin/cuda/kernels/attention_tiles.cuh"
#include "pippin/cuda/kernels/rows.cuh"
