#pragma once

#include "pippin/cuda/kernels/copy_args.h"
#include "pippin/cuda/kernels/dot_args.h"
#include "pippin/cuda/kernels/elementwise_args.h"
#include "pippin/cuda/kernels/experts_args.h"
#include "pippin/cuda/kernels/lookup_args.h"
#include "pippin/cuda/kernels/move_args.h"
#include "pippin/cuda/kernels/rotary_args.h"
#include "pippin/cuda/kernels/rows_args.h"
#include "pippin/cuda/kernels/sort_args.h"
