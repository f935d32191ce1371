#pragma once

#include "pippin/cuda/kernels/rows.cuh"
