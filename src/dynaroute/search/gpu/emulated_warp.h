// Emulates a warp on a CPU core, so that kernel.cu runs without a GPU: one lane, or 32 lanes that take turns.
//
// With EMULATED_LANES 32 every lane has its own stack and runs until it reaches a collective operation; then the next
// lane runs. The caller chooses the order of turns: if a barrier is missing, different orders give different results.
// Lanes that meet at different operations are counted as faults.
#pragma once
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define FN static inline
#define WIDTH EMULATED_LANES

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

struct alignas(16) Quad {
  u32 a, b, c, d;
};

FN Quad load_quad(const Quad* at) { return *at; }
FN i64 load_cost(const i64* at) { return *at; }
FN void make_visible() {}
FN u32 bits_of(float value) {
  u32 bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
#define BLOCK_LANE LANE
#define BLOCK_WIDTH WIDTH
#define BLOCK_SYNC() SYNC()
#define COUNT_ZEROS(value) __builtin_clz(value)

#if WIDTH == 1

#define LANE 0
#define SYNC() \
  do {         \
  } while (0)
#define LEAST(value) (value)
#define ADD(value) (value)
#define ADD64(value) (value)
static int faults = 0;
static int lane_order = 0;
template <class Work>
static void run_warp(Work work) {
  work();
}

#else

static const int STACK_BYTES = 1 << 18;
static int current_lane = 0;
static int lane_order = 0;  // 0 ascending, 1 descending, otherwise shuffled in each round
static int faults = 0;
static int meeting[32];
static bool is_done[32];
static u64 offered[2][32];
static int rounds[32];
static jmp_buf lane_context[32], scheduler;
static ucontext_t lane_start[32], home;
static char* stacks[32];
static void (*work_of_lanes)(void*);
static void* work_data;

#define LANE current_lane

static void take_turns(int line) {
  meeting[current_lane] = line;
  int lane = current_lane;
  if (_setjmp(lane_context[lane]) == 0) _longjmp(scheduler, 1);
}

static u64* meet(u64 value, int line) {
  int lane = current_lane, turn = rounds[lane]++ & 1;
  offered[turn][lane] = value;
  take_turns(line);
  return offered[turn];
}

static u32 least_of(u32 value, int line) {
  u64* all = meet(value, line);
  u32 least = (u32)all[0];
  for (int i = 1; i < 32; i++) least = (u32)all[i] < least ? (u32)all[i] : least;
  return least;
}

static u64 sum_of(u64 value, int line) {
  u64* all = meet(value, line);
  u64 sum = 0;
  for (int i = 0; i < 32; i++) sum += all[i];
  return sum;
}

#define SYNC() ((void)meet(0, __LINE__))
#define LEAST(value) least_of((value), __LINE__)
#define ADD(value) ((int)sum_of((u64)(i64)(value), __LINE__))
#define ADD64(value) ((i64)sum_of((u64)(value), __LINE__))

static void enter_lane() {
  int lane = current_lane;
  work_of_lanes(work_data);
  is_done[lane] = true;
  meeting[lane] = -1;
  _longjmp(scheduler, 1);
}

template <class Work>
static void call_work(void* data) {
  (*(Work*)data)();
}

template <class Work>
static void run_warp(Work work) {
  work_of_lanes = call_work<Work>;
  work_data = &work;
  static bool is_begun[32];  // static, because longjmp may not restore variables in registers
  static int order[32];
  static u32 shuffle;
  shuffle = 1;
  for (int i = 0; i < 32; i++) {
    is_done[i] = is_begun[i] = false;
    rounds[i] = 0;
    order[i] = lane_order == 1 ? 31 - i : i;
    if (!stacks[i]) stacks[i] = (char*)malloc(STACK_BYTES);
  }
  for (bool is_running = true; is_running;) {
    if (lane_order > 1)
      for (int i = 31; i > 0; i--) {
        shuffle = shuffle * 1664525u + 1013904223u + (u32)lane_order;
        int j = (int)((shuffle >> 8) % (u32)(i + 1)), kept = order[i];
        order[i] = order[j];
        order[j] = kept;
      }
    is_running = false;
    for (volatile int turn = 0; turn < 32; turn++) {
      int lane = order[turn];
      if (is_done[lane]) continue;
      is_running = true;
      current_lane = lane;
      if (_setjmp(scheduler) == 0) {
        if (!is_begun[lane]) {
          is_begun[lane] = true;
          getcontext(&lane_start[lane]);
          lane_start[lane].uc_stack.ss_sp = stacks[lane];
          lane_start[lane].uc_stack.ss_size = STACK_BYTES;
          lane_start[lane].uc_link = &home;
          makecontext(&lane_start[lane], enter_lane, 0);
          setcontext(&lane_start[lane]);
        }
        _longjmp(lane_context[lane], 1);
      }
    }
    for (int i = 1; i < 32; i++) faults += meeting[i] != meeting[0];
  }
  work_data = nullptr;
}

#endif
