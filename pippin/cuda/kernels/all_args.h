#pragma once

#include "pippin/cuda/kernels/choice_args.h"
#include "pippin/cuda/kernels/masks_args.h"
#include "pippin/cuda/kernels/rows_args.h"
