// The kernels of the batched search. NVRTC compiles them for a GPU, and any C++ compiler for tests (emulated_warp.h).
// A GPU and its emulation give the same routes: lengths are integers, random numbers are hashes of (seed, instance,
// chain, iteration), and floating-point operations are neither fused nor approximated.

#ifndef BLOCKS_OF_SMALL
#define BLOCKS_OF_SMALL 10  // resident blocks per multiprocessor
#endif
#ifndef BLOCKS_OF_LARGE
#define BLOCKS_OF_LARGE 8
#endif
#ifndef BLOCKS_THAT_BREED
#define BLOCKS_THAT_BREED 4  // the same, with eight warps each
#endif

#include "warp.cuh"
#include "launch.cuh"
#include "ruin_recreate.cuh"
#include "local_search.cuh"
#include "swap_star.cuh"
#include "genetic.cuh"

#ifdef EMULATED_LANES

template <class Index, bool BY_LISTS>
static void search_one_after_another(const Launch& launch) {
  int jobs = launch.instances * launch.chains, slices = (launch.count + launch.slice_length - 1) / launch.slice_length;
  for (int slice = 0; slice < slices; slice++)
    for (int job = 0; job < jobs; job++)
      run_warp([&] { run_slice<Index, BY_LISTS>(launch, job, slice, launch.scratch); });
}

template <class Work>
static void for_each(int count, Work work) {
  for (int i = 0; i < count; i++) run_warp([&] { work(i); });
}

extern "C" {
int count_faults() { return faults; }
int launch_bytes() { return (int)sizeof(Launch); }
int scratch_bytes(const Launch* launch, int is_small) {
  char* none = nullptr;
  u8* last = is_small ? workplace_at<u8>(none, *launch).ruined : workplace_at<u16>(none, *launch).ruined;
  return (int)((char*)(last + launch->slots + 1) - none);
}
void set_lane_order(int order) { lane_order = order; }
void search_small(const Launch* launch) { search_one_after_another<u8, false>(*launch); }
void search_large(const Launch* launch) { search_one_after_another<u16, true>(*launch); }
void search_huge(const Launch* launch) { search_one_after_another<u16, true>(*launch); }
void recombine_small(const Launch* launch) {
  for_each(launch->instances * launch->chains, [&](int job) { begin_generation<u8, false>(*launch, job, launch->scratch); });
}
void recombine_large(const Launch* launch) {
  for_each(launch->instances * launch->chains, [&](int job) { begin_generation<u16, true>(*launch, job, launch->scratch); });
}
void recombine_huge(const Launch* launch) { recombine_large(launch); }
void begin_small(const Launch* launch) {
  for_each(launch->instances * launch->chains, [&](int job) { begin_chain<u8>(*launch, job); });
}
void begin_large(const Launch* launch) {
  for_each(launch->instances * launch->chains, [&](int job) { begin_chain<u16>(*launch, job); });
}
void commit(const Launch* launch) {
  for_each(launch->instances * launch->chains, [&](int job) { commit_chain(*launch, job); });
}
void export_small(const Launch* launch) {
  for_each(launch->instances, [&](int instance) { export_best<u8>(*launch, instance); });
}
void export_large(const Launch* launch) {
  for_each(launch->instances, [&](int instance) { export_best<u16>(*launch, instance); });
}
void settle(const Launch* launch) {
  for_each(launch->instances * launch->islands, [&](int number) { settle_island(*launch, number); });
}
void breed(const Launch* launch) {
  for_each(launch->instances * launch->islands, [&](int number) {
    SharedInstance shared = load_shared_instance(*launch, number / launch->islands, launch->scratch);
    for (int child = 0; child < launch->children_count; child++)
      make_child(*launch, shared, number, child, launch->scratch + common_bytes(launch->nodes));
  });
}
void survive(const Launch* launch) {
  for_each(launch->instances * launch->islands, [&](int number) { select_survivors(*launch, number, launch->scratch); });
}
void export_champions(const Launch* launch) {
  for_each(launch->instances, [&](int instance) { export_champion(*launch, instance); });
}
int workspace_bytes(int nodes, int slots) { return (int)((char*)(workspace_at(nullptr, nodes, slots).is_touched + slots) - (char*)nullptr); }
int registry_bytes(int room) { return (int)((char*)(registry_at(nullptr, room).is_clone + room) - (char*)nullptr); }
int common_bytes_of(int nodes) { return common_bytes(nodes); }
int island_bytes() { return (int)sizeof(Island); }
}

#else

// Persistent warps take slices of chains one after another, so that all are busy until the end for any number of
// chains. Slices are handed out in order, so that the previous slice of the same chain was always taken earlier.
template <class Index, bool BY_LISTS>
FN void take_slices(const Launch& launch, char* scratch) {
  u32 jobs = (u32)(launch.instances * launch.chains);
  u32 tickets = jobs * (u32)((launch.count + launch.slice_length - 1) / launch.slice_length);
  for (;;) {
    u32 ticket = 0;
    if (LANE == 0) ticket = atomicAdd(launch.ticket, 1u);
    ticket = __shfl_sync(ALL, ticket, 0);
    if (ticket >= tickets) return;
    int slice = (int)(ticket / jobs), job = (int)(ticket % jobs);
    if (LANE == 0 && slice > 0)
      while (*(volatile int*)(launch.finished + job) < slice) __nanosleep(200);
    __syncwarp();
    make_visible();
    run_slice<Index, BY_LISTS>(launch, job, slice, scratch);
    __syncwarp();
    make_visible();
    __syncwarp();
    if (LANE == 0) atomicExch(launch.finished + job, slice + 1);
  }
}

extern __shared__ Quad shared_memory[];

#define WARP_IN_BLOCK ((int)(threadIdx.x >> 5))
#define WARP ((int)(blockIdx.x * (blockDim.x >> 5)) + WARP_IN_BLOCK)

#define IN_SHARED_MEMORY ((char*)shared_memory + WARP_IN_BLOCK * launch.scratch_bytes)
#define IN_GLOBAL_MEMORY (launch.scratch + (i64)WARP * launch.scratch_bytes)

// The search mostly waits for memory, so registers must be few enough for many warps.
extern "C" __global__ void __launch_bounds__(128, BLOCKS_OF_SMALL) search_small(const __grid_constant__ Launch launch) {
  take_slices<u8, false>(launch, IN_SHARED_MEMORY);
}
extern "C" __global__ void __launch_bounds__(128, BLOCKS_OF_LARGE) search_large(const __grid_constant__ Launch launch) {
  take_slices<u16, true>(launch, IN_SHARED_MEMORY);
}
extern "C" __global__ void __launch_bounds__(128, BLOCKS_OF_LARGE) search_huge(const __grid_constant__ Launch launch) {
  take_slices<u16, true>(launch, IN_GLOBAL_MEMORY);
}
// Fewer warps than chains; each has its own working memory.
template <class Index, bool BY_LISTS>
FN void recombine_all(const Launch& launch, char* scratch) {
  int warps = (int)(gridDim.x * (blockDim.x >> 5));
  for (int job = WARP; job < launch.instances * launch.chains; job += warps)
    begin_generation<Index, BY_LISTS>(launch, job, scratch);
}
extern "C" __global__ void __launch_bounds__(128) recombine_small(const __grid_constant__ Launch launch) {
  recombine_all<u8, false>(launch, IN_SHARED_MEMORY);
}
extern "C" __global__ void __launch_bounds__(128) recombine_large(const __grid_constant__ Launch launch) {
  recombine_all<u16, true>(launch, IN_SHARED_MEMORY);
}
extern "C" __global__ void __launch_bounds__(128) recombine_huge(const __grid_constant__ Launch launch) {
  recombine_all<u16, true>(launch, IN_GLOBAL_MEMORY);
}
extern "C" __global__ void begin_small(const __grid_constant__ Launch launch) {
  if (WARP < launch.instances * launch.chains) begin_chain<u8>(launch, WARP);
}
extern "C" __global__ void begin_large(const __grid_constant__ Launch launch) {
  if (WARP < launch.instances * launch.chains) begin_chain<u16>(launch, WARP);
}
extern "C" __global__ void commit(const __grid_constant__ Launch launch) {
  if (WARP < launch.instances * launch.chains) commit_chain(launch, WARP);
}
extern "C" __global__ void export_small(const __grid_constant__ Launch launch) {
  if (WARP < launch.instances) export_best<u8>(launch, WARP);
}
extern "C" __global__ void export_large(const __grid_constant__ Launch launch) {
  if (WARP < launch.instances) export_best<u16>(launch, WARP);
}
extern "C" __global__ void settle(const __grid_constant__ Launch launch) {
  if (WARP < launch.instances * launch.islands) settle_island(launch, WARP);
}
// One block per island; its warps take one child after another, because some children take twice as long as others.
extern "C" __global__ void __launch_bounds__(256, BLOCKS_THAT_BREED) breed(const __grid_constant__ Launch launch) {
  char* common = (char*)shared_memory;
  int number = (int)blockIdx.x;
  if (threadIdx.x == 0) *shared_at(common, launch.nodes).next_child = 0;
  SharedInstance shared = load_shared_instance(launch, number / launch.islands, common);
  char* own = common + common_bytes(launch.nodes) + WARP_IN_BLOCK * launch.scratch_bytes;
  for (;;) {
    int child = 0;
    if (LANE == 0) child = atomicAdd(shared.next_child, 1);
    child = __shfl_sync(ALL, child, 0);
    if (child >= launch.children_count) return;
    make_child(launch, shared, number, child, own);
    __syncwarp();
  }
}
extern "C" __global__ void __launch_bounds__(128) survive(const __grid_constant__ Launch launch) {
  if (WARP < launch.instances * launch.islands) select_survivors(launch, WARP, IN_SHARED_MEMORY);
}
extern "C" __global__ void export_champions(const __grid_constant__ Launch launch) {
  if (WARP < launch.instances) export_champion(launch, WARP);
}

#endif
