// What a launch works on.
#pragma once
#include "warp.cuh"

struct Island;

// The same structure, field by field, is in launches.py.
struct Launch {
  const int* lengths;           // (instances, nodes, nodes) of legs
  const int* demands;           // (instances, nodes)
  const int* capacities;        // (instances)
  const int* sizes;             // (instances)
  const int* slots_of;          // (instances) routes that an instance may have, `slots` at most
  const u16* near;              // (instances, nodes, near_count) customers, nearest first; for search_large alone
  const u64* keys;              // (instances) names of random streams
  const float* temperatures;    // (levels) in mean legs
  const float* mean_legs;       // (instances)
  const int* start_visits;      // (instances * starts, nodes - 1) customers, route after route
  const int* start_routes;      // (instances * starts, nodes) route of each
  u32* tours;                   // (chains, words) what chains work on
  u32* found;                   // (chains, words) the best of this generation
  u32* population;              // (chains, words) the best of earlier ones
  i64* tour_costs;              // (chains)
  i64* found_costs;             // (chains)
  i64* population_costs;        // (chains)
  int* routes_out;              // (instances, nodes) route of each customer, -1 else
  int* positions_out;           // (instances, nodes) place on it, -1 else
  int* finished;                // (chains) slices that are finished
  u32* ticket;                  // (1) next slice of all
  char* scratch;                // (warps, scratch_bytes) for search_large where shared memory is too small
  const u8* beside;             // (instances, nodes, BESIDE) customers, nearest first; what is below is for islands alone
  const float* places;          // (instances, nodes, 2) around the depot
  const int* total_demands;     // (instances)
  Island* island_states;        // (islands of all instances)
  u8* members;                  // (islands, 2, half_room, 3 nodes) records of solutions
  i64* member_lengths;          // (islands, 2, half_room)
  int* member_excess;           // (islands, 2, half_room)
  float* fitness;               // (islands, 2, half_room)
  u8* differences;              // (islands, 2, half_room, half_room)
  u8* children;                 // (islands, children_count, 2, 3 nodes)
  i64* child_lengths;           // (islands, children_count, 2); -1: there is none
  int* child_excess;            // (islands, children_count, 2)
  u8* champions;                // (islands, 3 nodes) the best feasible solutions
  i64* champion_lengths;        // (islands); -1: there is none
  u64 seed;
  u64 first_level, level_rate;  // of temperature, at the first iteration and for each: 32 bits of fraction
  int instances, nodes, slots, chains, starts, near_count, levels, words, scratch_bytes;
  int first, count, slice_length;  // iterations: number of the first, how many, how many in one slice
  int generation;
  int islands;                     // of an instance
  int children_count, drawn_count;  // of a generation; of a population at random to begin with
  int fewest, generation_size;     // members of a half that survive; added before they have to
  int penalty_period, patience;    // children before the penalty is set; before another population is begun
};
