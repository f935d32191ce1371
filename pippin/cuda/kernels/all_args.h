#pragma once

#include "pippin/cuda/kernels/choice_args.h"
#include "pippin/cuda/kernels/masks_args.h"
#include "pippin/cuda/kernels/copy_args.h"
#include "pippin/cuda/kernels/elementwise_args.h"
#include "pippin/cuda/kernels/lookup_args.h"
#include "pippin/cuda/kernels/rotary_args.h"
#include "pippin/cuda/kernels/dot_args.h"
#include "pippin/cuda/kernels/attention_args.h"
#include "pippin/cuda/kernels/rows_args.h"
