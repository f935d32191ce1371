#pragma once

#include "pippin/cuda/kernels/dot_args.h"
#include "pippin/cuda/kernels/rows_args.h"
