// The parameters of a launch.
#pragma once
#include "warp.cuh"

struct Island;

// launches.py declares the same structure; the fields must be in the same order.
struct Launch {
  const int* lengths;           // (instances, nodes, nodes) lengths of legs
  const int* demands;           // (instances, nodes)
  const int* capacities;        // (instances)
  const int* sizes;             // (instances)
  const int* slots_of;          // (instances) the most routes of an instance, at most `slots`
  const u16* near;              // (instances, nodes, near_count) customers, nearest first; only for search_large
  const u64* keys;              // (instances) keys of the random streams
  const float* temperatures;    // (levels) in mean legs
  const float* mean_legs;       // (instances)
  const int* start_visits;      // (instances * starts, nodes - 1) customers, route after route
  const int* start_routes;      // (instances * starts, nodes) route of each customer
  u32* tours;                   // (chains, words) present tours
  u32* found;                   // (chains, words) best tours of this generation
  u32* population;              // (chains, words) best tours of earlier generations
  i64* tour_costs;              // (chains)
  i64* found_costs;             // (chains)
  i64* population_costs;        // (chains)
  int* routes_out;              // (instances, nodes) route of each customer, otherwise -1
  int* positions_out;           // (instances, nodes) its position on the route, otherwise -1
  int* finished;                // (chains) finished slices
  u32* ticket;                  // (1) the next slice to take
  char* scratch;                // (warps, scratch_bytes) for search_large if shared memory is too small
  const u8* beside;             // (instances, nodes, BESIDE) nearest customers; from here on all are for islands
  const float* places;          // (instances, nodes, 2) positions relative to the depot
  const int* total_demands;     // (instances)
  Island* island_states;        // (islands), over all instances
  u8* members;                  // (islands, 2, half_room, 3 nodes) records of solutions
  i64* member_lengths;          // (islands, 2, half_room)
  int* member_excess;           // (islands, 2, half_room)
  float* fitness;               // (islands, 2, half_room)
  u8* differences;              // (islands, 2, half_room, half_room)
  u8* children;                 // (islands, children_count, 2, 3 nodes)
  i64* child_lengths;           // (islands, children_count, 2); -1 if there is none
  int* child_excess;            // (islands, children_count, 2)
  u8* champions;                // (islands, 3 nodes) the best feasible solutions
  i64* champion_lengths;        // (islands); -1 if there is none
  u64 seed;
  u64 first_level, level_rate;  // level of temperature at first, and its change per iteration; 32 fractional bits
  int instances, nodes, slots, chains, starts, near_count, levels, words, scratch_bytes;
  int first, count, slice_length;  // first iteration, number of iterations, iterations per slice
  int generation;
  int islands;                     // islands per instance
  int children_count, drawn_count;  // children per generation; random members of a new population
  int fewest, generation_size;     // members of a half that survive a selection; members added before the next one
  int penalty_period, patience;    // children between updates of the penalty; idle children before a new population
};
