// The parameters of a launch. launches.py declares them, and says what they mean: they replace LAUNCH_FIELDS.
#pragma once
#include "warp.cuh"

struct Island;

struct Launch { LAUNCH_FIELDS };
