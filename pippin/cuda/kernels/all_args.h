#pragma once

#include "pippin/cuda/kernels/rows_args.h"
