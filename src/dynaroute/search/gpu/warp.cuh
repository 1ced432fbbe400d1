// Operations of a warp, on a GPU and in its emulation; random numbers; and the choice of the best result of all lanes.
//
// Every lane of a warp must reach every collective operation (SYNC, LEAST, ADD); lanes may differ only between them.
// Variables that are equal in all lanes are called "shared" elsewhere.
#pragma once

#ifdef EMULATED_LANES
#include "emulated_warp.h"
#else
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;
struct alignas(16) Quad {
  u32 a, b, c, d;
};
#define FN __device__ __forceinline__
#define WIDTH 32
#define LANE ((int)(threadIdx.x & 31))
#define ALL 0xffffffffu
#define SYNC() __syncwarp()
#define LEAST(value) __reduce_min_sync(ALL, (value))
#define ADD(value) __reduce_add_sync(ALL, (value))
#define ADD64(value) add_64(value)
#define COUNT_ZEROS(value) __clz((int)(value))
#define BLOCK_LANE ((int)threadIdx.x)
#define BLOCK_WIDTH ((int)blockDim.x)
#define BLOCK_SYNC() __syncthreads()
FN i64 add_64(i64 value) {
  for (int offset = 16; offset; offset >>= 1) value += __shfl_xor_sync(ALL, value, offset);
  return value;
}
// bypasses the first-level cache, which may be out of date if another multiprocessor has written
FN Quad load_quad(const Quad* at) {
  uint4 found = __ldcg((const uint4*)at);
  return Quad{found.x, found.y, found.z, found.w};
}
FN i64 load_cost(const i64* at) { return __ldcg(at); }
FN void make_visible() { __threadfence(); }
FN u32 bits_of(float value) { return __float_as_uint(value); }
#endif

typedef unsigned char u8;
typedef unsigned short u16;

#define NOTHING 0xffffffffu

struct Draws {
  u32 base, count;
};

FN u32 mix(u32 v) {
  v ^= v >> 16;
  v *= 0x7feb352du;
  v ^= v >> 15;
  v *= 0x846ca68bu;
  return v ^ (v >> 16);
}

FN u64 mix_64(u64 v) {
  v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9ull;
  v = (v ^ (v >> 27)) * 0x94d049bb133111ebull;
  return v ^ (v >> 31);
}

FN Draws draws_of(u64 stream, u32 iteration) { return Draws{mix(mix((u32)stream + iteration) ^ (u32)(stream >> 32)), 0u}; }
FN u32 draw(Draws& draws) { return mix(draws.base + 0x9e3779b9u * ++draws.count); }
FN int below(u32 random, int bound) { return (int)(((u64)random * (u32)bound) >> 32); }
FN float unit(u32 random) { return (float)(random >> 8) * (1.0f / 16777216.0f); }

// -ln of a random number in (0, 1), computed without a library, because libraries differ in the last bits
FN float exponential(u32 random) {
  u32 bits = random | 1u;
  int zeros = COUNT_ZEROS(bits);
  bits <<= zeros;
  float part = (float)((bits << 1) >> 9) * (1.0f / 8388608.0f);  // bits is (1 + part) * 2^31
  float ratio = part / (2.0f + part), square = ratio * ratio;    // ln(1 + part) = 2 artanh(ratio)
  float logarithm = 2.0f * ratio * (1.0f + square * (0.33333333f + square * (0.2f + square * 0.14285714f)));
  return 0.69314718f * (float)(zeros + 1) - logarithm;
}

struct Place {
  u32 cost;  // plus BIAS
  u32 node;  // the node to insert after
};

FN void prefer(Place& best, u32 cost, u32 node) {
  if (cost < best.cost || (cost == best.cost && node < best.node)) best = Place{cost, node};
}

FN Place agree(const Place& best) {
  u32 cost = LEAST(best.cost);
  return Place{cost, LEAST(best.cost == cost ? best.node : NOTHING)};
}

